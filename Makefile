# SPDX-License-Identifier: Apache-2.0
#
# Builds wick and runs its tests. One Makefile for the whole tree: lists of sources first, then flavours (the same
# sources compiled in four ways), then what people type. `make help` names the targets.
#
# Everything made goes under build/:
#   wick libwick.a obj/ tests/   the ordinary build; the same under san/ (SAN=1) and static/ (STATIC=1)
#   bpf/ gen/                    BPF objects and their skeletons, shared by all flavours
#   fuzz/                        fuzz targets, with a library of their own
#   progs/ static/progs/         programs for tests to profile; zoo/: those for unwinding; hostile/: attackers
#   bench/                       programs for bench/run
#   importers/                   other tools, from npm, to read what wick writes
#   browser/                     what drives a browser in tests, and the pictures that they take
#   vm/                          kernels for tests/vm; it and browser/ are kept by `make clean`
#
# A test gets from its environment: WICK (the program under test), WICK_PROGS (where the test programs are), WICK_BUILD
# (build/), all absolute, and CI (not empty: what cannot run must fail).

VERSION := 0.1.0
BUILD := build
PREFIX := /usr/local
DESTDIR :=

# ---- Sources. A file that is in no list is an error of `make lint`. ----

BASE_SRCS := $(addprefix src/base/,buf.c columns.c extent.c fail.c fds.c file.c index.c intern.c json.c json_read.c map.c opt.c outpath.c rights.c sha256.c text.c when.c)
PROFILE_SRCS := $(addprefix src/profile/,bulk.c copy.c diff.c expand.c filter.c judge.c merge.c pick.c profile.c types.c)
ELF_SRCS := $(addprefix src/elf/,buildid.c cfi.c debugdata.c debuglink.c dwarf.c ehframe.c gopclntab.c image.c plt.c pointer.c)
PROC_SRCS := $(addprefix src/proc/,cputimes.c maps.c mounts.c place.c process.c)
SYM_SRCS := $(addprefix src/sym/,cplus.c demangle.c jitmap.c kernel.c symbols.c table.c vdso.c)
UNWIND_SRCS := $(addprefix src/unwind/,go.c padding.c replay.c rows.c rulebook.c rules.c)
WORKER_SRCS := $(addprefix src/worker/,confine.c fetch.c opener.c pool.c protocol.c serve.c shares.c shelf.c spawner.c worker.c)
COLLECT_SRCS := $(addprefix src/collect/,account.c addresses.c btf.c cgroup.c cgroup_trees.c collect.c drain.c early.c files.c helpers.c ingest.c kernel.c look.c lookup.c met.c missed.c name.c name_debug.c name_jit.c origin.c part.c preload.c programs.c refused.c sampler.c selftest.c slabs.c \
	tables.c ticks.c ways.c windows.c)
IN_SRCS := $(addprefix src/in/,bcc.c bpftrace.c firefox.c firefox_tables.c folded.c in.c perf.c perf_head.c pprof.c pprof_proto.c source.c speedscope.c stack.c wick.c)
OUT_SRCS := $(addprefix src/out/,advice.c bcc.c diff.c firefox.c folded.c formats.c frame.c gzip.c html.c lines.c page.c page_head.c paths.c perf.c pprof.c quality.c report.c report_callers.c \
	report_quality.c report_stacks.c report_tables.c report_tree.c speedscope.c stats.c svg.c svg_colour.c svg_draw.c svg_layout.c svg_tree.c tally.c timeline.c tree.c \
	wick.c)
# Texts that are compiled in
EMBEDDED := $(addprefix src/out/,svg.css svg.js) $(addprefix src/web/,page.css serve.css page.html)
# The page: modules, each after those that it imports; put one after the other they are one script
WEB_SCRIPTS := $(addprefix src/web/,inflate.js data.js filters.js model.js trees.js format.js colours.js state.js dom.js flame.js gestures.js flames.js tree.js table.js inspector.js chips.js menu.js search.js \
	export.js keys.js answer.js main.js)
# What only a server's page has, behind those
WEB_SERVER_SCRIPTS := $(addprefix src/web/,ask.js live.js join.js ranges.js plot.js timeline.js heat.js strip.js serve.js)
STORE_SRCS := $(addprefix src/store/,bundle.c carry.c coder.c cover.c dict.c events.c gaps.c hour.c listing.c load.c open.c query.c question.c retain.c seal.c series.c sieve.c sql.c sum.c tables.c window.c)
HTTP_SRCS := $(addprefix src/http/,api.c conns.c curves.c guard.c kept.c kept_curves.c listen.c live.c metrics.c mhd.c peer.c query.c replay.c route.c server.c serving.c stream.c summary.c work.c)
CMD_SRCS := $(addprefix src/cmd/,ask.c child.c cmd.c completion.c convert.c diff.c filters.c input.c kept.c merge.c notify.c outputs.c profile.c profile_options.c record.c record_options.c \
	report.c report_options.c serve.c serve_health.c serve_http.c serve_keep.c serve_link.c serve_options.c session.c sql.c svg_options.c values.c)
MAIN_SRC := src/main.c

BPF_SRCS := src/bpf/sampler.bpf.c

# Everything but main(): what unit tests link with.
LIB_SRCS := $(BASE_SRCS) $(PROFILE_SRCS) $(ELF_SRCS) $(PROC_SRCS) $(SYM_SRCS) $(UNWIND_SRCS) $(WORKER_SRCS) $(COLLECT_SRCS) $(IN_SRCS) $(OUT_SRCS) $(STORE_SRCS) $(HTTP_SRCS) $(CMD_SRCS)
# What fuzz targets link with: the pure layers, and the decoders of the collector (no BPF, no skeletons).
FUZZ_SRCS := $(BASE_SRCS) $(PROFILE_SRCS) $(ELF_SRCS) $(SYM_SRCS) $(UNWIND_SRCS) src/worker/protocol.c $(addprefix src/proc/,cputimes.c maps.c place.c) $(IN_SRCS) $(OUT_SRCS) src/collect/ingest.c src/collect/programs.c $(addprefix src/store/,bundle.c coder.c dict.c sum.c window.c) $(addprefix src/http/,guard.c query.c) src/cmd/ask.c

# ---- Tests, each by its name in the folder ----

# tests/unit/LAYER/test_MODULE.c, as LAYER/MODULE
UNIT_TESTS := $(addprefix base/,budget buf columns extent fail fds file index intern json json_read map opt outpath sha256 text when) elf/buildid elf/cfi elf/ehframe elf/gopclntab elf/image proc/cputimes proc/maps proc/place sym/demangle sym/jitmap sym/kernel sym/symbols sym/vdso unwind/go unwind/padding unwind/replay unwind/rows unwind/rulebook unwind/rules unwind/step \
	worker/protocol worker/shares worker/shelf worker/worker $(addprefix http/,conns curves guard listen live metrics peer query replay route stream work) \
	profile/bulk profile/diff profile/expand profile/filter profile/merge profile/pick profile/profile profile/types collect/addresses collect/btf collect/ingest collect/ingest_damaged collect/missed collect/programs in/bcc in/bpftrace in/firefox in/folded in/identity in/perf in/pprof in/source in/sources in/speedscope in/wick out/out out/report out/bcc cmd/notify cmd/profile_options cmd/record_options cmd/serve_health out/svg out/timeline collect/ways \
	store/bundle store/crash store/events store/hour store/open store/query store/retain store/seal store/series store/sum store/window
# tests/tools/NAME.c: programs for shell tests to ask, linked with the library
TEST_TOOLS := feed goname hostilelf httpserve listframes mkprofile mkraw mkstore mutate probe progtags replay rhythm rows served storeday symname listevents windows
# tests/fuzz/fuzz_NAME.c with the corpus tests/fuzz/corpus/NAME/
FUZZERS := answer any ask bcc bpftrace buildid cfi cputimes demangle ehframe firefox folded gopclntab ingest jitmap json kallsyms maps perf place pprof query rows speedscope store symbols text wick
# Shell tests that need no root
GOLDEN_TESTS := tests/golden/completion.t tests/golden/diff.t tests/golden/man.t tests/golden/report.t tests/golden/go-names.t tests/golden/hostilelf.t tests/golden/inputs.t tests/golden/kept.t tests/golden/mutations.t tests/golden/names.t tests/golden/recorded.t tests/golden/rows.t tests/golden/usage.t tests/golden/formats.t tests/golden/pprof.t tests/golden/sql.t tests/golden/svg.t
# A server asked over the network of this machine
HTTP_TESTS := tests/http/attacks.t tests/http/api.t tests/http/ask.t tests/http/crowds.t tests/http/kept.t tests/http/users.t
# Other tools read what wick writes; they come from npm
IMPORTER_TESTS := tests/importers/importers.t
# Tests in a browser, which need no root either
BROWSER_TESTS := tests/browser/svg.t tests/browser/page.t tests/browser/page-totals.t tests/browser/serve.t
# Shell tests that need root; those of KERNEL_SAN_TESTS run a second time, with the sanitized program
KERNEL_TESTS := $(addprefix tests/kernel/,accounting.t belongs.t crowds.t debuginfod.t early.t ends.t execs.t filters.t formats.t frames.t gaps.t go.t hostile.t hotplug.t idle.t jitnames.t jitter.t man.t names.t packaged.t places.t probes.t profile.t real.t \
	refusals.t serve-page.t serve.t short.t stacks.t twins.t types.t unwind.t windows.t worker.t)
KERNEL_SAN_TESTS := $(addprefix tests/kernel/,ends.t frames.t stacks.t)
# Long ones, root as well, or much of the same: only in test-long
LONG_TESTS := tests/golden/mutations-long.t $(addprefix tests/kernel/,execs-long.t real-long.t serve-long.t)
# Attackers, run by an ordinary user, against wick as root; the long ones only in test-long
HOSTILE_TESTS := $(addprefix tests/hostile/,capabilities.t deputy.t fuse.t labels.t names.t output.t stacks.t tables.t worker.t)
HOSTILE_LONG_TESTS := $(addprefix tests/hostile/,fuse-each.t mixture.t)
# tests/hostile/NAME.c: attackers, their victims, and shared objects for them to load
HOSTILE_PROGS := aligned elves fuse jitcode killer lent raised spin stacks tidreuse watch wide
HOSTILE_LIBS := libhidden
# tests/progs/NAME.c: programs, and shared objects for them to load
PROGS := shares shares-pad short execs storm exiter manymaps jit vdso names periodic crowd udpflood pidreuse exec-alpha exec-beta dl \
	deep compat32 without hostile twins blind tempo turns
PROG_LIBS := libdla libdlb
# tests/unwind/zoo/: programs whose stacks are known, to compare with gdb's; most of them without frame pointers. NAME
# or NAME-VARIANT, of NAME.c, of NAME.cc, of NAME.rs or of the folder NAME of a Go program
ZOO := plain plain-nopie plain-static plain-staticpie plain-musl plain-muslstatic plain-clang plain-fp plain-cet \
	plain-gz plain-frames plain-gzframes plain-split exceptions exceptions-static threads threads-static signals \
	signals-static signals-musl context vfork deep tail plt plt-cet plt-now variable realign realign-clang loads \
	edges clock assembly gaps rust go
ZOO_LIBS := libtiny libloaded libassembly
# What of them goes to the machines of tests/vm, linked statically
STATIC_PROGS := $(filter-out dl,$(PROGS))
# bench/progs/: a load, built twice, what runs the tools to measure them, and what writes stacks to be read
BENCH_PROGS := steady-fp steady-nofp cost stackid stacks
# Debian's kernels for tests/vm/run; the first runs in `make test`, all in `make test-long`
KERNELS := 5.10 6.1 6.12

# Flags of single programs: PROG_CFLAGS and PROG_LDLIBS replace the default. For example:
#   %/progs/leaf: PROG_CFLAGS = -O2 -fomit-frame-pointer
PROG_CFLAGS = -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector -fno-toplevel-reorder \
	-falign-functions=64 -falign-loops=64
PROG_LDLIBS = -lpthread -ldl
# Quick to start, and at the same addresses in every one of them
$(addprefix %/progs/,short execs exec-alpha exec-beta pidreuse crowd storm): PROG_LDLIBS = -static -lpthread
# Without a C library; see tests/progs/bare.h
$(addprefix %/progs/,deep compat32): PROG_CFLAGS = -O1 -g -fno-omit-frame-pointer -fno-stack-protector -fcf-protection=none \
	-ffreestanding -nostdlib -static -fno-pie -no-pie
$(addprefix %/progs/,deep compat32): PROG_LDLIBS =
%/progs/compat32: PROG_CFLAGS += -m32
%/progs/twins: PROG_CFLAGS = -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector

# ---- Tools and flags ----

CC := gcc
CLANG := clang
AR := ar
LLVM_STRIP := llvm-strip
# The first one that runs: it may be outside an ordinary user's PATH, or a wrapper without a program behind it.
BPFTOOL = $(shell for tool in bpftool /usr/sbin/bpftool /usr/lib/linux-tools*/*/bpftool; do \
	$$tool version >/dev/null 2>&1 && echo $$tool && break; done)

CFLAGS := -O2 -g
LDFLAGS :=
LDLIBS := -lbpf -ldw -lelf -liberty -llzma -lbz2 -lz -lzstd -lxxhash -lsqlite3 -lpthread -lm

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CPPFLAGS := -D_GNU_SOURCE -DWICK_RELEASE='"$(VERSION)"' -Isrc -I$(BUILD)/gen
COMMON := -std=gnu11 $(CPPFLAGS) $(WARNINGS) -fno-omit-frame-pointer
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
HARDEN_LINK := -Wl,-z,relro,-z,now
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

MACHINE := $(shell uname -m)
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(MACHINE)))
BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Werror -Isrc

# A flavour is chosen for what people type; any flavour's files can be asked for by name at any time.
O := $(BUILD)$(if $(SAN),/san)$(if $(STATIC),/static)
ifneq ($(and $(SAN),$(STATIC)),)
$(error SAN=1 and STATIC=1 do not go together: sanitizers need shared libraries)
endif

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$1' '$2')

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
FORCE:

# ---- BPF: object, then a skeleton that holds it without debug information ----

BPF_NAMES := $(patsubst src/bpf/%.bpf.c,%,$(BPF_SRCS))
SKELS := $(BPF_NAMES:%=$(BUILD)/gen/%.skel.h)

$(BUILD)/bpf/%.bpf.o: src/bpf/%.bpf.c
	$(call say,BPF,$<)
	$Qmkdir -p $(@D)
	$Q$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(BPF_ARCH) -MMD -MP -c -o $@ $<

$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$Qmkdir -p $(@D)
	$Q$(LLVM_STRIP) -g -o $(BUILD)/bpf/$*.stripped.o $<
	$Q$(BPFTOOL) gen skeleton $(BUILD)/bpf/$*.stripped.o name $*_bpf >$@

.SECONDARY: $(BPF_NAMES:%=$(BUILD)/bpf/%.bpf.o)
-include $(BPF_NAMES:%=$(BUILD)/bpf/%.bpf.d)

# ---- Embedded texts: each line a C string, without indentation, blank lines and lines that are only a comment ----

EMBEDDED_INCS := $(patsubst src/%,$(BUILD)/gen/%.inc,$(EMBEDDED))
WEB_INCS := $(BUILD)/gen/web/page.js.inc $(BUILD)/gen/web/server.js.inc

# One script of the page's modules: what they import is in it already.
$(BUILD)/gen/web/page.js: $(WEB_SCRIPTS)
$(BUILD)/gen/web/server.js: $(WEB_SERVER_SCRIPTS)
$(BUILD)/gen/web/page.js $(BUILD)/gen/web/server.js:
	$(call say,EMBED,$@)
	$Qmkdir -p $(@D)
	$Qsed -e '/^import /d' -e 's/^export //' $^ >$@

$(EMBEDDED_INCS): $(BUILD)/gen/%.inc: src/%
	$(call say,EMBED,$<)
	$(embed)

$(WEB_INCS): %.inc: %
	$(embed)

define embed
	$Qmkdir -p $(@D)
	$Qsed -e 's/^[[:blank:]]*//' -e '/^\/\//d' -e '/^\/\*.*\*\/$$/d' -e '/^$$/d' -e 's/["\\]/\\&/g' -e 's/.*/"&\\n"/' $< >$@
endef

# ---- Flavours: $(call flavour,FOLDER,COMPILER,FLAGS,LINK FLAGS,LIBRARY SOURCES) ----

# For a file that changes only when its WORDS do: what depends on it is made again when flags or lists change.
define keep_words
@mkdir -p $(@D)
@echo '$(subst ','\'',$(WORDS))' | cmp -s - $@ || echo '$(subst ','\'',$(WORDS))' >$@
endef

define flavour
$1/flags: WORDS = $2 $3 $4
$1/list: WORDS = $5
$1/flags $1/list: FORCE
	$$(keep_words)

$1/obj/%.o: src/%.c $1/flags
	$$(call say,CC,$$(if $(filter-out $(BUILD),$1),$$@,$$<))
	$$Qmkdir -p $$(@D)
	$$Q$2 $3 -MMD -MP -c -o $$@ $$<

# The first build needs the skeletons before the compiler can say so.
$(patsubst src/%.c,$1/obj/%.o,$(COLLECT_SRCS)): | $(SKELS)
$1/obj/out/svg_draw.o $1/obj/out/html.o: | $(EMBEDDED_INCS) $(WEB_INCS)

$1/libwick.a: $(patsubst src/%.c,$1/obj/%.o,$5) $1/list
	$$(call say,AR,$$@)
	$$Qrm -f $$@
	$$Q$(AR) rcs $$@ $$(filter %.o,$$^)

$1/wick: $(MAIN_SRC:src/%.c=$1/obj/%.o) $1/libwick.a
	$$(call say,LD,$$@)
	$$Q$2 $4 -o $$@ $$^ $(LDLIBS)

$1/tests/unit/%: tests/unit/%.c $1/libwick.a $1/flags
	$$(call say,TEST,$$@)
	$$Qmkdir -p $$(@D)
	$$Q$2 $3 -Itests $4 -MMD -MP -MF $$@.d -MT $$@ -o $$@ $$< $1/libwick.a -lcmocka $(LDLIBS)

$1/tests/tools/%: tests/tools/%.c $1/libwick.a $1/flags
	$$(call say,TOOL,$$@)
	$$Qmkdir -p $$(@D)
	$$Q$2 $3 $4 -MMD -MP -MF $$@.d -MT $$@ -o $$@ $$< $1/libwick.a $(LDLIBS)

-include $(patsubst src/%.c,$1/obj/%.d,$5 $(MAIN_SRC))
-include $(patsubst %,$1/tests/tools/%.d,$(TEST_TOOLS))
-include $(patsubst %,$1/tests/unit/%.d,$(UNIT_NAMES))
endef

UNIT_NAMES := $(join $(dir $(UNIT_TESTS)),$(addprefix test_,$(notdir $(UNIT_TESTS))))
FUZZ_FLAGS := -O1 -g $(COMMON) $(SANITIZE)

$(eval $(call flavour,$(BUILD),$(CC),$(COMMON) $(HARDEN) $(CFLAGS),-pie $(HARDEN_LINK) $(LDFLAGS),$(LIB_SRCS)))
$(eval $(call flavour,$(BUILD)/san,$(CC),$(COMMON) $(CFLAGS) -O1 $(SANITIZE),$(SANITIZE) $(LDFLAGS),$(LIB_SRCS)))
$(eval $(call flavour,$(BUILD)/static,$(CC),$(COMMON) -DWICK_STATIC=1 $(HARDEN) $(CFLAGS),-static-pie $(HARDEN_LINK) \
	$(LDFLAGS),$(LIB_SRCS)))
$(eval $(call flavour,$(BUILD)/fuzz,$(CLANG),$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,,$(FUZZ_SRCS)))

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/fuzz/libwick.a
	$(call say,FUZZ,$@)
	$Q$(CLANG) $(FUZZ_FLAGS) -Itests -fsanitize=fuzzer -MMD -MP -MF $@.d -MT $@ -o $@ $< $(BUILD)/fuzz/libwick.a \
		-ldw -lelf -liberty -llzma -lz -lzstd -lxxhash -lm

-include $(FUZZERS:%=$(BUILD)/fuzz/fuzz_%.d)

# ---- Test programs ----

prog = $(call say,PROG,$@)
prog_cc = $(CC) -D_GNU_SOURCE -Wall -Wextra -Isrc -Itests $(PROG_CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $<

$(BUILD)/progs/%: tests/progs/%.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc) $(PROG_LDLIBS)

$(BUILD)/static/progs/%: tests/progs/%.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc) -static $(PROG_LDLIBS)

$(BUILD)/progs/%.so: tests/progs/%.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc) -shared -fPIC

# Attackers run in roots and name spaces without libraries; spin has a build id, so that its debug file is looked for
HOSTILE_CC = $(CC)
HOSTILE_CFLAGS = -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector
HOSTILE_LDLIBS = -lpthread -ldl
$(BUILD)/hostile/spin $(BUILD)/hostile/elves: HOSTILE_LDLIBS = -static -Wl,--build-id
$(BUILD)/hostile/wide: HOSTILE_CFLAGS += -fomit-frame-pointer
$(BUILD)/hostile/raised: HOSTILE_CC = musl-gcc
$(BUILD)/hostile/raised: HOSTILE_CFLAGS += -fomit-frame-pointer
$(BUILD)/hostile/raised: HOSTILE_LDLIBS = -static

hostile_cc = $(HOSTILE_CC) -D_GNU_SOURCE -Wall -Wextra -Itests $(HOSTILE_CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $<

$(BUILD)/hostile/%: tests/hostile/%.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(hostile_cc) $(HOSTILE_LDLIBS)

$(BUILD)/hostile/%.so: tests/hostile/%.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(hostile_cc) -shared -fPIC -Wl,--build-id

HOSTILE_FILES := $(HOSTILE_PROGS:%=$(BUILD)/hostile/%) $(HOSTILE_LIBS:%=$(BUILD)/hostile/%.so)
-include $(HOSTILE_FILES:%=%.d)

PROG_FILES := $(PROGS:%=$(BUILD)/progs/%) $(PROG_LIBS:%=$(BUILD)/progs/%.so)
BENCH_FILES := $(BENCH_PROGS:%=$(BUILD)/bench/%)
VM_FILES := $(BUILD)/static/wick $(BUILD)/static/tests/tools/progtags $(STATIC_PROGS:%=$(BUILD)/static/progs/%)
-include $(PROG_FILES:%=%.d) $(BENCH_FILES:%=%.d) $(STATIC_PROGS:%=$(BUILD)/static/progs/%.d)

$(BUILD)/bench/steady-fp: PROG_CFLAGS = -O1 -g -DFRAMES -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(BUILD)/bench/steady-nofp: PROG_CFLAGS = -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls
$(BUILD)/bench/steady-fp $(BUILD)/bench/steady-nofp: bench/progs/steady.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc)

$(BUILD)/bench/cost: PROG_CFLAGS = -O2 -g
$(BUILD)/bench/cost: bench/progs/cost.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc) -lbpf

# What others do at each tick, and nothing else: to compare with.
$(BUILD)/bench/stackid: PROG_CFLAGS = -O2 -g
$(BUILD)/bench/stackid: bench/progs/stackid.c bench/progs/stackid.bpf.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(BPF_ARCH) -I/usr/include/$(MACHINE)-linux-gnu -c -o $@.bpf.o \
		bench/progs/stackid.bpf.c
	$Q$(prog_cc) -lbpf

$(BUILD)/bench/stacks: PROG_CFLAGS = -O2 -g
$(BUILD)/bench/stacks: bench/progs/stacks.c
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(prog_cc)

# ---- The zoo: what unwinding is tried on ----

ZOO_CFLAGS = -O2 -fomit-frame-pointer -fcf-protection=none
ZOO_CC = $(CC)
ZOO_LDLIBS =
ZOO_FILES := $(ZOO:%=$(BUILD)/zoo/%) $(ZOO_LIBS:%=$(BUILD)/zoo/%.so)
zoo_source = $(word 1,$(wildcard $(addprefix tests/unwind/zoo/$(firstword $(subst -, ,$1)).,c cc)))

$(BUILD)/zoo/%-nopie: ZOO_LDLIBS = -no-pie -fno-pie
$(BUILD)/zoo/%-static: ZOO_LDLIBS = -static
$(BUILD)/zoo/%-staticpie: ZOO_LDLIBS = -static-pie
$(BUILD)/zoo/%-musl $(BUILD)/zoo/%-muslstatic: ZOO_CC = musl-gcc
$(BUILD)/zoo/%-muslstatic: ZOO_LDLIBS = -static
$(BUILD)/zoo/%-clang: ZOO_CC = $(CLANG)
$(BUILD)/zoo/%-fp: ZOO_CFLAGS = -O2 -fno-omit-frame-pointer -fcf-protection=none -DZOO_FP
$(BUILD)/zoo/%-cet: ZOO_CFLAGS = -O2 -fomit-frame-pointer -fcf-protection=full
$(BUILD)/zoo/%-gz: ZOO_CFLAGS += -g -gz=zlib
# Without .eh_frame but that of the C library's parts: what there is, is meant for debuggers.
$(addprefix $(BUILD)/zoo/%-,frames gzframes split): ZOO_CFLAGS += -g -fno-asynchronous-unwind-tables -fno-unwind-tables
$(BUILD)/zoo/%-gzframes: ZOO_CFLAGS += -gz=zlib
$(BUILD)/zoo/plt-cet: ZOO_LDLIBS += -Wl,-z,ibtplt
$(BUILD)/zoo/plt $(BUILD)/zoo/plt-cet: ZOO_LDLIBS += -Wl,-z,lazy -fplt
$(BUILD)/zoo/plt-now: ZOO_LDLIBS += -Wl,-z,now
$(BUILD)/zoo/plt $(BUILD)/zoo/plt-cet $(BUILD)/zoo/plt-now: $(BUILD)/zoo/libtiny.so
$(BUILD)/zoo/plt $(BUILD)/zoo/plt-cet $(BUILD)/zoo/plt-now: ZOO_LDLIBS += $(BUILD)/zoo/libtiny.so -Wl,-rpath,'$$ORIGIN'
$(BUILD)/zoo/assembly: $(BUILD)/zoo/libassembly.so
$(BUILD)/zoo/assembly: ZOO_LDLIBS += $(BUILD)/zoo/libassembly.so -Wl,-rpath,'$$ORIGIN' tests/unwind/zoo/assembly.S
$(BUILD)/zoo/assembly: tests/unwind/zoo/assembly.S
$(BUILD)/zoo/gaps: ZOO_LDLIBS += tests/unwind/zoo/gaps.S
$(BUILD)/zoo/gaps: tests/unwind/zoo/gaps.S
$(BUILD)/zoo/exceptions $(BUILD)/zoo/exceptions-static: ZOO_CC = g++
$(BUILD)/zoo/edges: ZOO_CFLAGS += -fno-toplevel-reorder -falign-functions=1
$(BUILD)/zoo/realign $(BUILD)/zoo/realign-clang: ZOO_CFLAGS += -Wno-psabi

$(foreach name,$(filter-out rust go,$(ZOO)),$(eval $(BUILD)/zoo/$(name): $(call zoo_source,$(name))))
$(filter-out %/rust %/go,$(ZOO:%=$(BUILD)/zoo/%)): tests/unwind/zoo/zoo.h
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(ZOO_CC) -D_GNU_SOURCE -Wall -Wextra $(ZOO_CFLAGS) -o $@ $(call zoo_source,$(@F)) $(ZOO_LDLIBS)
	$Q$(if $(filter %-split,$@),objcopy --only-keep-debug $@ $@.debug && \
		objcopy --strip-debug --add-gnu-debuglink=$@.debug $@)

$(ZOO_LIBS:%=$(BUILD)/zoo/%.so): $(BUILD)/zoo/%.so: tests/unwind/zoo/%.c tests/unwind/zoo/zoo.h
	$(prog)
	$Qmkdir -p $(@D)
	$Q$(CC) -D_GNU_SOURCE -Wall -Wextra $(ZOO_CFLAGS) -fPIC -shared -o $@ $<

$(BUILD)/zoo/rust: tests/unwind/zoo/rust.rs
	$(prog)
	$Qmkdir -p $(@D)
	$Qenv -u MAKEFLAGS -u MFLAGS rustc -C opt-level=2 -C force-frame-pointers=no -C linker=$(CC) -o $@ $<

$(BUILD)/zoo/go: tests/unwind/zoo/go/main.go tests/unwind/zoo/zoo.h
	$(prog)
	$Qmkdir -p $(@D)
	$QGO111MODULE=off GOFLAGS= GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=1 CC=$(CC) \
		GOCACHE=$(abspath $(BUILD))/gocache go build -o $@ $<

# ---- What people type. Phases are separate invocations of this file: the set-up must be over before any tool is
# ---- looked for, and tests must not share the machine with a compiler.

.PHONY: all run test test-long check lint format bench fuzz install clean distclean help
.PHONY: check-san check-unit check-golden check-http check-browser check-importers check-fuzz check-kernel check-hostile check-long check-vm check-vm-all check-systemd test-build

SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
AGAIN = +$Q$(MAKE) --no-print-directory
FUZZ_TIME := 60

TEST_ENV = WICK=$(abspath $O/wick) WICK_TOOLS=$(abspath $O/tests/tools) WICK_PROGS=$(abspath $(BUILD)/progs) WICK_BUILD=$(abspath $(BUILD)) CI="$$CI" \
	CMOCKA_MESSAGE_OUTPUT=TAP UBSAN_OPTIONS=print_stacktrace=1
# Unit tests of this flavour, as files
UNIT_FILES := $(UNIT_NAMES:%=$O/tests/unit/%)
TOOL_FILES := $(TEST_TOOLS:%=$O/tests/tools/%)
FUZZ_FILES := $(FUZZERS:%=$(BUILD)/fuzz/fuzz_%)

## all: build wick (SAN=1: with sanitizers, STATIC=1: one static file; V=1 shows commands)
all: $O/wick

RUN_ARGS := record -o - -o wick.svg 10

## run: install what is missing, build, and profile this machine for ten seconds
run:
	$Qscripts/setup run
	$(AGAIN) $(PARALLEL) all
	$(SUDO) $O/wick $(RUN_ARGS)
	@echo 'The flame graph is in wick.svg: open it in a browser.'

## test: everything that CI needs
test:
	$Qscripts/setup test
	$(AGAIN) $(PARALLEL) test-build
	$(AGAIN) $(PARALLEL) lint
	$(AGAIN) $(PARALLEL) --output-sync=target check-vm check-browser check check-san check-importers
	$(AGAIN) check-kernel
	$(AGAIN) check-hostile
	$(AGAIN) SAN=1 KERNEL_TESTS='$(KERNEL_SAN_TESTS)' check-kernel

test-build: $(BUILD)/wick $(BUILD)/san/wick $(FUZZ_FILES) $(PROG_FILES) $(HOSTILE_FILES) $(ZOO_FILES) $(BENCH_FILES) $(VM_FILES)
test-build: $(UNIT_NAMES:%=$(BUILD)/tests/unit/%) $(UNIT_NAMES:%=$(BUILD)/san/tests/unit/%)
test-build: $(TEST_TOOLS:%=$(BUILD)/tests/tools/%) $(TEST_TOOLS:%=$(BUILD)/san/tests/tools/%)

## test-long: test, then every kernel, long runs and FUZZ_TIME seconds of real fuzzing for each target
test-long: test
	$(AGAIN) check-vm-all
	$(AGAIN) check-systemd
	$(AGAIN) check-long
	$(AGAIN) HOSTILE_TESTS='$(HOSTILE_LONG_TESTS)' check-hostile
	$(AGAIN) fuzz

## check: the tests that need no root
check: check-unit check-golden check-http check-fuzz

check-san:
	$(AGAIN) SAN=1 check-unit check-golden check-http

check-unit: $(UNIT_FILES)
	$Q$(TEST_ENV) tests/run unit $^

check-golden: $O/wick $(TOOL_FILES) $(PROG_FILES) $(BUILD)/zoo/go
	$Q$(TEST_ENV) tests/run golden $(GOLDEN_TESTS)

check-http: $O/wick $(TOOL_FILES)
	$Q$(TEST_ENV) tests/run http $(HTTP_TESTS)

check-browser: $O/wick $(TOOL_FILES)
	$Q$(TEST_ENV) tests/run browser $(BROWSER_TESTS)

$(BUILD)/importers/ready: tests/importers/package-lock.json
	$(call say,NPM,tests/importers)
	$Qmkdir -p $(@D)
	$Qcp tests/importers/package.json $< $(@D)
	$Qcd $(@D) && npm ci --loglevel=error --no-audit --no-fund --ignore-scripts >/dev/null
	$Qtouch $@

check-importers: $O/wick $(BUILD)/importers/ready
	$Q$(TEST_ENV) tests/run importers $(IMPORTER_TESTS)

# Each target over its corpus, once.
check-fuzz: $(FUZZ_FILES)
	$Q$(TEST_ENV) FUZZERS='$(FUZZERS)' tests/run fuzz tests/fuzz/corpus.t

check-kernel: $O/wick $(PROG_FILES) $(ZOO_FILES) $(TOOL_FILES)
	$Q$(SUDO) env $(TEST_ENV) tests/run kernel $(KERNEL_TESTS)

check-hostile: $O/wick $(HOSTILE_FILES) $(PROG_FILES) $(ZOO_FILES) $(TOOL_FILES)
	$Q$(SUDO) env $(TEST_ENV) HOSTILE_SECONDS="$$HOSTILE_SECONDS" tests/run hostile $(HOSTILE_TESTS)

check-long: $O/wick $(PROG_FILES) $(TOOL_FILES) $(BUILD)/zoo/go
	$Q$(SUDO) env $(TEST_ENV) tests/run long $(LONG_TESTS)

check-vm: $(VM_FILES)
	$Q$(TEST_ENV) tests/vm/run $(firstword $(KERNELS))

check-vm-all: $(VM_FILES)
	$Qfor kernel in $(KERNELS); do $(TEST_ENV) tests/vm/run $$kernel || exit 1; done

# Installed as by a user, started by a systemd of its own.
check-systemd: $(VM_FILES) $(PROG_FILES) $(BUILD)/wick
	$Qrm -rf $(BUILD)/vm/installed
	$(AGAIN) install DESTDIR=$(abspath $(BUILD)/vm/installed) PREFIX=/usr/local >/dev/null
	$Qfor kernel in $(KERNELS); do $(TEST_ENV) tests/vm/run -s $(abspath $(BUILD)/vm/installed) $$kernel || exit 1; done

## fuzz: FUZZ_TIME seconds of fuzzing for each target, from its corpus
fuzz: $(FUZZ_FILES)
	$Q$(TEST_ENV) FUZZERS='$(FUZZERS)' FUZZ_TIME=$(FUZZ_TIME) tests/run fuzz tests/fuzz/corpus.t

## lint: layers, lengths, lists, headers, format, shell, both compilers, arm64
LINTS := lists layers length headers format shell compilers arm64
TEST_SRCS := $(UNIT_NAMES:%=tests/unit/%.c) $(FUZZERS:%=tests/fuzz/fuzz_%.c) $(TEST_TOOLS:%=tests/tools/%.c)

lint: $(LINTS:%=lint-%)

lint-headers lint-compilers lint-arm64: | $(SKELS) $(EMBEDDED_INCS) $(WEB_INCS)

lint-%:
	$(call say,LINT,$*)
	$Qtests/lint/$*

lint-%: export LINT_CPPFLAGS = $(CPPFLAGS)
lint-%: export LINT_WARNINGS = $(WARNINGS)
lint-%: export LINT_BPF_CFLAGS = $(BPF_CFLAGS)
lint-%: export LINT_BPF_ARCH = $(BPF_ARCH)
lint-%: export LINT_SRCS = $(LIB_SRCS) $(MAIN_SRC)
lint-%: export LINT_EMBEDDED = $(EMBEDDED) $(WEB_SCRIPTS) $(WEB_SERVER_SCRIPTS)
lint-%: export LINT_BPF_SRCS = $(BPF_SRCS)
lint-%: export LINT_TEST_SRCS = $(TEST_SRCS)
lint-%: export LINT_PROG_SRCS = $(PROGS:%=tests/progs/%.c) $(PROG_LIBS:%=tests/progs/%.c)
lint-%: export LINT_HOSTILE_SRCS = $(HOSTILE_PROGS:%=tests/hostile/%.c) $(HOSTILE_LIBS:%=tests/hostile/%.c)
lint-%: export LINT_ZOO = $(ZOO) $(ZOO_LIBS)
lint-%: export LINT_TESTS = $(GOLDEN_TESTS) $(HTTP_TESTS) $(BROWSER_TESTS) $(IMPORTER_TESTS) $(KERNEL_TESTS) $(LONG_TESTS) $(HOSTILE_TESTS) $(HOSTILE_LONG_TESTS) tests/fuzz/corpus.t
lint-%: export LINT_BUILD = $(BUILD)
lint-%: export LINT_GCC = $(CC)
lint-%: export LINT_CLANG = $(CLANG)

## format: let clang-format put all C sources in order
format:
	$Qfind $(wildcard src tests bench) -name "*.[ch]" -exec clang-format -i {} +

## bench: measure wick side by side with its peers (ROUNDS=5 SECONDS=10)
bench:
	$Qscripts/setup bench
	$(AGAIN) $(PARALLEL) $(BUILD)/wick $(BENCH_FILES) $(BUILD)/importers/ready $(addprefix $(BUILD)/tests/tools/,rows storeday symname)
	$Qbad=0; for part in run unwind naming lookups serve; do \
		$(SUDO) env WICK=$(abspath $(BUILD)/wick) BENCH=$(abspath $(BUILD)/bench) \
			TOOLS=$(abspath $(BUILD)/tests/tools) ROUNDS="$$ROUNDS" SECONDS="$$SECONDS" bench/$$part || bad=1; \
	done; \
	WICK=$(abspath $(BUILD)/wick) BENCH=$(abspath $(BUILD)/bench) ROUNDS="$$ROUNDS" bench/convert || bad=1; \
	WICK=$(abspath $(BUILD)/wick) BENCH=$(abspath $(BUILD)/bench) BUILD=$(abspath $(BUILD)) ROUNDS="$$ROUNDS" bench/page || bad=1; \
	WICK=$(abspath $(BUILD)/wick) TOOLS=$(abspath $(BUILD)/tests/tools) bench/store || bad=1; exit $$bad

MAN_PAGES := $(wildcard docs/man/*.[1-8])

$O/wick.bash: $O/wick
	$Q$< completion bash >$@

## install: copy program, manual pages, completion and a systemd unit to PREFIX (/usr/local), under DESTDIR if that is set
install: $O/wick $O/wick.bash
	install -D -m 755 $O/wick $(DESTDIR)$(PREFIX)/bin/wick
	$(foreach page,$(MAN_PAGES),install -D -m 644 $(page) \
		$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page)) &&) :
	install -D -m 644 $O/wick.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wick
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,@PREFIX@,$(PREFIX),' packaging/wick.service.in >$(DESTDIR)$(PREFIX)/lib/systemd/system/wick.service

## clean: remove what was built (distclean: what was downloaded as well)
clean:
	$Qif [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name vm ! -name browser -exec rm -rf {} +; fi

distclean:
	rm -rf $(BUILD)

## help: this list
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))
