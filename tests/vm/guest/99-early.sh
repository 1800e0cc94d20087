wick >/tmp/o 2>&1; echo "rc $?" >> /tmp/o; tail -n 40 /tmp/o | sed 's/^/# /'
grep -q 'load 0' /tmp/o || DEBUG=1 wick 2>&1 | grep -v 'relo #' | grep -v found | tail -n 30 | sed 's/^/# /'
