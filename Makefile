# SPDX-License-Identifier: Apache-2.0
# One Makefile, no recursion. `make help` lists the targets. O= another build directory, V=1 full commands,
# SANITIZE=address,undefined for everything outside libshiny.so, CC=clang for the other compiler,
# SETUP=0 skips package installation. CPPFLAGS, CFLAGS and LDFLAGS of the caller are for shinyctl;
# libshiny.so has flags of its own alone.

VERSION  := 0.1.0
# of the version, for the manual pages
DATE     := 2026-11-22
O        ?= build
CC       ?= gcc
CXX      ?= $(if $(findstring clang,$(CC)),clang++,g++)
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
ZSH_FUNCTIONS ?= site-functions
SANITIZE ?=
OPTIMIZE ?= -O2
SETUP    ?= 1
JOBS     ?= $(shell nproc)
Q        := $(if $(V),,@)
# A line without a program of its own, as are a recipe's commands without quoting or pipes: to start
# a shell for each is a tenth of the build.
say       = $(if $(V),,$(info $()  $(1)$(patsubst $(O)/%,%,$@)))

WARN      := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wno-unused-parameter
COMMON    := -std=gnu17 -g $(OPTIMIZE) $(WARN) -Iinclude -fno-omit-frame-pointer
# inside: no PLT, no lazy binding, nothing exported but what the version script names, initial-exec TLS only
INSIDE    := $(COMMON) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt -fno-stack-protector -fno-builtin-malloc -fcf-protection=none
# outside, as Debian hardens its packages; FORTIFY wants optimization, and sanitizers bring their own checks
HARDEN    := -fPIE -fstack-protector-strong -fcf-protection=full \
             $(if $(SANITIZE)$(filter -O0,$(OPTIMIZE)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDLINK  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
SANFLAGS  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all,)
# a pair of numbers just written one by one must not be read as one vector: the processor would wait for both
OUTSIDE   := $(COMMON) $(HARDEN) -fno-tree-slp-vectorize $(SANFLAGS) -DSHINY_VERSION_TEXT='"$(VERSION)"' -DSHINY_VERSION_DATE='"$(DATE)"' \
             -I$(O)/gen $(CPPFLAGS) $(CFLAGS)
# jemalloc is the sidecar's allocator; a sanitizer brings its own
LIBS      := -ldw -lelf -llzma -l:libiberty.a -lsqlite3 -lzstd -lz -lyajl -lncursesw -ltinfo \
             -lwslay -lZydis -lstdc++ $(if $(SANITIZE),,-ljemalloc) -lpthread -lm

INTERPOSE_C := $(sort $(shell find interpose -name '*.c'))
OUTSIDE_C   := $(sort $(shell find src symbolizer -name '*.c'))
MAIN_C      := src/ctl/main.c
BLANK_C     := src/store/blank_make.c # runs when shinyctl is built
UNIT_C      := $(sort $(wildcard test/unit/*.c))       # against everything outside
INSIDE_TEST_C := $(sort $(wildcard test/ring/*.c))     # against interpose/ built as a library, sanitized
FUZZ_C      := $(sort $(wildcard test/fuzz/*.c))
TOOL_C      := $(sort $(wildcard test/lib/*.c))        # what tests use, against everything outside
# tests build these: libraries of some need not be there, and one is a library itself
OF_GTK      := test/e2e/gobject.c test/e2e/gtk.c test/e2e/talloc.c test/e2e/observed.c
TARGET_C    := $(filter-out $(OF_GTK),$(sort $(wildcard test/zoo/*.c test/e2e/*.c test/fault/*.c \
	       test/suites/*.c bench/*.c)))
TARGET_CC   := $(sort $(wildcard test/zoo/*.cc test/e2e/*.cc bench/*.cc))

INTERPOSE_O := $(INTERPOSE_C:%.c=$(O)/%.o)
OUTSIDE_O   := $(OUTSIDE_C:%.c=$(O)/%.o)
LIB_O       := $(filter-out $(MAIN_C:%.c=$(O)/%.o) $(BLANK_C:%.c=$(O)/%.o),$(OUTSIDE_O))
INSIDE_TEST_O := $(INTERPOSE_C:%.c=$(O)/jet/%.o)
UNIT        := $(UNIT_C:%.c=$(O)/%)
INSIDE_TEST := $(INSIDE_TEST_C:%.c=$(O)/%)
FUZZ        := $(FUZZ_C:%.c=$(O)/%)
TOOLS       := $(TOOL_C:%.c=$(O)/%)
MADE_O      := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard test/lib/made/*.c))) # of session_make
TARGETS     := $(TARGET_C:%.c=$(O)/%) $(TARGET_CC:%.cc=$(O)/%)
# zoo/NAME.lib.cc and NAME.lib.c are libraries that a target opens
TARGETS     := $(filter-out %.lib,$(TARGETS)) $(patsubst %.lib,%.so,$(filter %.lib,$(TARGETS)))

# as many at once as there are processors, unless the caller has said how many
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: all help setup demo scenarios check check-all check-suites install uninstall clean tests bench docs page tour
.DELETE_ON_ERROR:
.SECONDARY:

all: $(O)/libshiny.so $(O)/shinyctl docs ## build the library, shinyctl, the manual pages and the completions

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

# which lists of scripts/setup: each target below names its own
PACKAGES = build
setup: ## install the Debian packages that building needs, where they are missing (SETUP=0 skips this everywhere)
	$(if $(filter 1,$(SETUP)),$(Q)scripts/setup $(PACKAGES),@:)

demo: PACKAGES := build demo
demo: setup ## record a real program and print the report
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all
	$(Q)O=$(O) scripts/demo

scenarios: PACKAGES := build scenarios
scenarios: setup ## record Chromium in fourteen scenarios, and write one table (SCENARIOS='--only NAME --sandbox on --repeat 20 ...')
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all
	$(Q)O=$(O) scripts/scenarios/run --bare-too $(SCENARIOS)

check: PACKAGES := build test
check: setup ## every test but the long ones
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all tests
	$(Q)O=$(O) CC='$(CC)' test/run quick

check-all: PACKAGES := build test long
check-all: setup ## the above, both compilers, sanitizers, the long tests
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all tests
	$(Q)O=$(O) CC='$(CC)' test/run all

check-suites: PACKAGES := build suites
check-suites: setup ## programs' own tests, 58 programs, 500 kills and stops, without Shiny and under it, services attached to, and the Debian package (SUITES='redis git programs stops ...')
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all tests
	$(Q)O=$(O) test/suites/run $(SUITES)

page: ## build src/view/page/page.html anew, with node and the packages that package-lock.json pins
	$(Q)cd src/view/page && npm ci --no-audit --no-fund && node build.mjs

tour: PACKAGES := build test
tour: setup ## run docs/tour.md's commands, and write their output and pictures into it
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all
	$(Q)O=$(O) scripts/tour

bench: PACKAGES := build bench
bench: setup ## the measurements, into bench/results/
	$(Q)$(MAKE) --no-print-directory $(jobs) SETUP=0 all tests
	$(Q)O=$(O) bench/run

tests: $(UNIT) $(INSIDE_TEST) $(FUZZ) $(TOOLS) $(TARGETS)

# ---- a change of flags or compiler rebuilds everything ----
# plain `make` on a machine without the packages: one line that names them, not a compiler's error
$(O)/packages: scripts/setup
	@mkdir -p $(O)
	$(if $(filter 1,$(SETUP)),$(Q)scripts/setup --missing build)
	@touch $@
# of all that is built: one program makes them, not one for each file
FOLDERS = $(sort $(dir $(INTERPOSE_O) $(OUTSIDE_O) $(INSIDE_TEST_O) $(UNIT) $(INSIDE_TEST) $(FUZZ) \
	$(TOOLS) $(MADE_O) $(TARGETS) $(MAN) $(COMPLETION) $(SKILL)))
$(O)/flags: FORCE | $(O)/packages
	@mkdir -p $(FOLDERS)
	@echo '$(CC) $(INSIDE) | $(OUTSIDE)' | cmp -s - $@ || echo '$(CC) $(INSIDE) | $(OUTSIDE)' > $@
# without .PHONY, a target that .SECONDARY names, as it names all, is not made again for it
.PHONY: FORCE

# ---- inside ----
$(O)/interpose/%.o: interpose/%.c $(O)/flags
	$(call say,CC       )
	$(Q)$(CC) $(INSIDE) -MMD -MP -c $< -o $@

$(O)/gen/exports.map: interpose/hook/hook_list.def scripts/check-symbols
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)scripts/check-symbols --map > $@

$(O)/libshiny.so: $(INTERPOSE_O) $(O)/gen/exports.map
	$(call say,LINK     )
	$(Q)$(CC) -shared -nostartfiles -o $@ $(INTERPOSE_O) -Wl,-soname,libshiny.so -Wl,--version-script=$(O)/gen/exports.map \
		-Wl,-z,defs,-z,now,-z,relro,-z,noexecstack,-z,nodelete,-z,initfirst,--as-needed -lc
	$(Q)CC='$(CC)' scripts/preload-tree $(O)

# ---- outside ----
SUMS := scripts/sums src/store/sum_list.h
$(O)/gen/schema_sql.h: src/store/schema.sql $(SUMS)
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)$(SUMS) $< | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' > $@

# the functions that types look through are nobody's call site either
$(O)/gen/boring_rules.h: src/store/boring.rules symbolizer/infer/containers.rules
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)awk 'FILENAME ~ /containers/ { if ($$1 != "wrapper" && $$1 != "function") next; \
			$$0 = "function " $$2 } \
		!/^#/ && NF { print "\"" $$0 "\\n\"" }' $^ > $@

$(O)/gen/containers_rules.h: symbolizer/infer/containers.rules
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

$(O)/gen/code_rules_text.h: symbolizer/source/code.rules
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

$(O)/gen/components_rules.h: src/analysis/attribute/components.rules
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@

# the texts of the help, one array entry a file: { "verbs/report", "..." },
HELP_TEXTS := $(sort $(shell find src/ctl/help -name '*.txt'))
$(O)/gen/help_texts.h: $(HELP_TEXTS) $(SUMS)
	$(call say,GEN      )
	@mkdir -p $(@D)
	$(Q)for f in $(HELP_TEXTS:src/ctl/help/%.txt=%); do printf '{ "%s",\n' "$$f"; \
		$(SUMS) src/ctl/help/$$f.txt | \
		sed -e '/^#/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/'; echo '},'; done > $@

$(O)/src/%.o: src/%.c $(O)/flags | $(O)/gen/schema_sql.h $(O)/gen/components_rules.h $(O)/gen/boring_rules.h \
		$(O)/gen/help_texts.h
	$(call say,CC       )
	$(Q)$(CC) $(OUTSIDE) -MMD -MP -c $< -o $@

# the file that every session begins as is in the object
$(O)/gen/blank_make: $(BLANK_C:%.c=$(O)/%.o)
	$(call say,LINK     )
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $< -lsqlite3
$(O)/gen/blank.shiny: $(O)/gen/blank_make
	$(call say,GEN      )
	$(Q)$< $@
$(O)/src/store/blank.o: $(O)/gen/blank.shiny
$(O)/src/store/blank.o: private OUTSIDE += -DSHINY_BLANK_FILE='"$(O)/gen/blank.shiny"'

# the page's template is in the object
$(O)/src/view/page_file.o: src/view/page/page.html

$(O)/symbolizer/%.o: symbolizer/%.c $(O)/flags | $(O)/gen/containers_rules.h \
		$(O)/gen/code_rules_text.h
	$(call say,CC       )
	$(Q)$(CC) $(OUTSIDE) -MMD -MP -c $< -o $@

$(O)/outside.a: $(LIB_O)
	$(call say,AR       )
	$(Q)rm -f $@ && ar rcs $@ $(LIB_O)

# As a shared library, jemalloc's thread-local data does not fit in beside an audit library
# (LD_AUDIT), and the loader takes a fifth of a start for libstdc++, whose demangler is used.
STATIC := $(subst -lstdc++,-l:libstdc++.a -static-libgcc,$(LIBS:-ljemalloc=-l:libjemalloc_pic.a))
$(O)/shinyctl: $(O)/$(MAIN_C:.c=.o) $(O)/outside.a
	$(call say,LINK     )
	$(Q)$(CC) $(SANFLAGS) $(HARDLINK) $(LDFLAGS) -rdynamic -o $@ $^ $(STATIC)

# manual pages, completions and the skill for agents: what `shinyctl help` says, in other forms
VERBS      := $(shell sed -nE 's/^SHINY_(VERB|ROWS).[A-Z]*, ([a-z]*),.*/\2/p' src/ctl/verbs.def)
MAN        := $(O)/man/shinyctl.1 $(VERBS:%=$(O)/man/shinyctl-%.1)
COMPLETION := $(addprefix $(O)/completion/shinyctl.,bash zsh fish)
SKILL      := $(O)/skills/shiny/SKILL.md
docs: $(MAN) $(COMPLETION) $(SKILL)
$(O)/man/shinyctl.1: $(O)/shinyctl
	$(call say,GEN      )
	$(Q)$(O)/shinyctl help --man > $@
$(O)/man/shinyctl-%.1: $(O)/shinyctl
	$(Q)$(O)/shinyctl help --man $* > $@
$(O)/completion/shinyctl.%: $(O)/shinyctl
	$(Q)$(O)/shinyctl help --completion $* > $@

skill_says := Answers questions about the heap of a C or C++ program from its recorded session, \
	such as leaks, types, call sites, lifetimes, peaks, wrong frees and what changed. Use it \
	for *.shiny files and for memory problems.
$(SKILL): $(O)/shinyctl
	$(Q){ printf -- '---\nname: shiny\ndescription: %s\n---\n\n# Shiny\n\n```text\n' \
		'$(skill_says)'; \
		$(O)/shinyctl help agent; printf '```\n'; } > $@

# ---- tests ----
# gold links in half of the time what nobody installs
TEST_LD := $(if $(SANITIZE),,$(if $(shell command -v ld.gold),-fuse-ld=gold))
# what looks at its own code is linked as programs are
$(patsubst %.c,$(O)/%,$(shell grep -l own_code.h $(UNIT_C))): private TEST_LD :=
# What a unit's test does itself is little: it is not optimized, what it tests is.
UNIT_FLAGS = $(patsubst -O2,-O0,$(filter-out -D_FORTIFY_SOURCE=%,$(OUTSIDE)))
$(O)/test/unit/%: test/unit/%.c $(O)/outside.a $(O)/flags
	$(call say,TEST     )
	$(Q)$(CC) $(UNIT_FLAGS) $(TEST_LD) -Itest -MMD -MP $< $(O)/outside.a -o $@ $(LIBS)

JET := $(COMMON) -DSHINY_TEST -fsanitize=address,undefined -fno-sanitize-recover=all
# with the sanitizers, -O2 compiles half as long again and runs no faster
$(O)/jet/interpose/%.o: interpose/%.c $(O)/flags
	$(Q)$(CC) $(JET) $(OPTIMIZE:-O2=-O1) -MMD -MP -c $< -o $@
$(O)/jet/inside.a: $(INSIDE_TEST_O)
	$(Q)rm -f $@ && ar rcs $@ $^
$(O)/test/ring/%: test/ring/%.c $(O)/jet/inside.a $(O)/flags
	$(call say,TEST     )
	$(Q)$(CC) $(JET) -Itest -MMD -MP $< $(O)/jet/inside.a -o $@ -lpthread -lm
# the patcher's recipes are made outside
$(O)/test/ring/patch: test/ring/patch.c $(O)/jet/inside.a $(O)/symbolizer/flow/patch_recipe.o $(O)/symbolizer/elf/binary.o $(O)/flags
	$(call say,TEST     )
	$(Q)$(CC) $(JET) -Itest -MMD -MP $< $(O)/jet/inside.a $(O)/symbolizer/flow/patch_recipe.o $(O)/symbolizer/elf/binary.o -o $@ -lZydis -lpthread

$(O)/test/fuzz/%: test/fuzz/%.c $(O)/outside.a $(O)/flags
	$(call say,FUZZ     )
	$(Q)$(CC) $(OUTSIDE) $(TEST_LD) -Itest -MMD -MP $< $(O)/outside.a -o $@ $(LIBS)

$(O)/test/lib/made/%.o: test/lib/made/%.c $(O)/flags
	$(Q)$(CC) $(OUTSIDE) -MMD -MP -c $< -o $@
$(O)/test/lib/session_make: test/lib/session_make.c $(MADE_O) $(O)/outside.a $(O)/flags
	$(call say,TEST     )
	$(Q)$(CC) $(OUTSIDE) $(TEST_LD) -Itest -MMD -MP $< $(MADE_O) $(O)/outside.a -o $@ $(LIBS)
$(O)/test/lib/%: test/lib/%.c $(O)/outside.a $(O)/flags
	$(call say,TEST     )
	$(Q)$(CC) $(OUTSIDE) $(TEST_LD) -Itest -MMD -MP $< $(O)/outside.a -o $@ $(LIBS)

# targets: ordinary programs, with no flag of ours but -g; a line `// build: FLAGS` in the source adds to the command
extra = $(shell sed -n 's|^// build: ||p' $<)
$(O)/test/%.so: test/%.lib.c $(O)/flags
	$(Q)$(CC) -g -O1 -fPIC -shared $< -o $@ $(extra)
$(O)/test/%.so: test/%.lib.cc $(O)/flags
	$(Q)$(CXX) -g -O1 -fPIC -shared $< -o $@ $(extra)
$(O)/test/zoo/% $(O)/test/e2e/% $(O)/test/fault/%: test/%.c
$(O)/test/%: test/%.c $(O)/flags
	$(call say,TARGET   )
	$(Q)$(CC) -g -O1 -fno-builtin -Itest -Iinclude $< -o $@ -lpthread -ldl $(extra)
$(O)/test/%: test/%.cc $(O)/flags
	$(call say,TARGET   )
	$(Q)$(CXX) -g -O1 -fno-builtin -Itest -Iinclude $< -o $@ -lpthread -ldl $(extra)
$(patsubst test/%,$(O)/test/%,$(basename $(wildcard test/zoo/*.c test/zoo/*.cc))): test/zoo/zoo.h
$(patsubst test/%.cc,$(O)/test/%,$(wildcard test/e2e/*.cc)): test/e2e/ledger.h
# these measure parts of shinyctl by themselves
$(O)/bench/bench_block $(O)/bench/bench_replay: $(O)/bench/%: bench/%.c $(O)/outside.a $(O)/flags
	$(call say,BENCH    )
	$(Q)$(CC) $(OUTSIDE) -MMD -MP $< $(O)/outside.a -o $@ $(LIBS)
$(O)/bench/%.so: bench/%.lib.c $(O)/flags
	$(Q)$(CC) -g -O2 -fPIC -shared $< -o $@ $(extra)
$(O)/bench/%: bench/%.c $(O)/flags
	$(call say,TARGET   )
	$(Q)$(CC) -g -O2 -fno-omit-frame-pointer -fno-builtin -Iinclude $< -o $@ -lpthread -ldl $(extra)
$(O)/bench/%: bench/%.cc $(O)/flags
	$(call say,TARGET   )
	$(Q)$(CXX) -g -O2 -fno-omit-frame-pointer -fno-builtin -Iinclude $< -o $@ -lpthread -ldl $(extra)

# ---- install ----
# FROM:TO:MODE; TO is below $(DESTDIR). The library's own folder, shiny/, goes where the library goes.
INSTALL_LIST = $(O)/libshiny.so:$(LIBDIR)/libshiny.so:755 $(O)/shinyctl:$(PREFIX)/bin/shinyctl:755 \
	$(O)/shiny.pc:$(LIBDIR)/pkgconfig/shiny.pc:644 \
	include/shiny/shiny.h:$(PREFIX)/include/shiny/shiny.h:644 \
	$(O)/completion/shinyctl.bash:$(PREFIX)/share/bash-completion/completions/shinyctl:644 \
	$(O)/completion/shinyctl.zsh:$(PREFIX)/share/zsh/$(ZSH_FUNCTIONS)/_shinyctl:644 \
	$(O)/completion/shinyctl.fish:$(PREFIX)/share/fish/vendor_completions.d/shinyctl.fish:644 \
	$(SKILL):$(PREFIX)/share/shiny/skills/shiny/SKILL.md:644 \
	$(foreach page,$(MAN),$(page):$(PREFIX)/share/man/man1/$(notdir $(page)):644)
$(O)/shiny.pc: FORCE
	@printf 'prefix=%s\nincludedir=$${prefix}/include\n\nName: shiny\nDescription: %s\nVersion: %s\nCflags: -I$${includedir}\n' \
		'$(PREFIX)' 'tags and marks for the heap profiler Shiny; there is nothing to link' '$(VERSION)' > $@
install: all $(O)/shiny.pc ## install library, command, shiny.h, manual pages and completions under DESTDIR/PREFIX
	$(Q)IFS=:; for f in $(INSTALL_LIST); do set -- $$f; \
		install -D -m "$$3" "$$1" "$(DESTDIR)$$2" || exit; done
	$(Q)rm -rf "$(DESTDIR)$(LIBDIR)/shiny" && cp -dR $(O)/shiny "$(DESTDIR)$(LIBDIR)"
uninstall: ## remove what install put there
	$(Q)IFS=:; for f in $(INSTALL_LIST); do set -- $$f; rm -f "$(DESTDIR)$$2"; done
	$(Q)rm -rf "$(DESTDIR)$(LIBDIR)/shiny"
	$(Q)rmdir --ignore-fail-on-non-empty "$(DESTDIR)$(PREFIX)/include/shiny" 2>/dev/null || true

clean: ## remove the build directory
	$(Q)rm -rf $(O)

-include $(shell find $(O) \( -name chromium150 -o -path $(O)/suites \) -prune -o -type f -name '*.d' -print 2>/dev/null)
