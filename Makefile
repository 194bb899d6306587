# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
#
# Every target makes or refreshes the workspace first; a second call finds nothing to do.

ROBOT ?= stiff_flop
ARGS ?=

# In front of every command: this workspace, whatever the shell had sourced before.
in_workspace := SORO_WORKSPACE='$(CURDIR)'; . scripts/env.sh;
in_jazzy := SORO_WORKSPACE='$(CURDIR)'; SORO_VENV='$(CURDIR)/.venv-jazzy'; \
  SORO_BUILD_ROOT='$(CURDIR)/.jazzy'; . scripts/env.sh;

.DEFAULT_GOAL := help
.PHONY: help setup run demo docs test test-jazzy test-ros lint format bench validate reliability soak pictures figures clean

help:  ## this list
	@echo 'make TARGET [ROBOT=stiff_flop] [ARGS="..."]'
	@sed -n 's/^\([a-z-]*\):.*  ## /  \1\t/p' Makefile | expand -t 14

setup:  ## make or refresh the workspace: environment, messages, packages
	@python3 scripts/setup_workspace.py --all

run:  ## start a robot on its emulator, with a page to see it: make run ROBOT=name-or-file ARGS="namespace:=a"
	@echo 'starting $(ROBOT)'
	@python3 scripts/setup_workspace.py --warm '$(ROBOT)' --beside
	@$(in_workspace) exec soro launch '$(ROBOT)' $(if $(findstring viewer:=,$(ARGS)),,viewer:=true) $(ARGS)

demo:  ## a tour of a robot on its emulator, with bag, figures and report in out/demo: make demo ROBOT=name
	@python3 scripts/setup_workspace.py --warm '$(ROBOT)'
	@$(in_workspace) soro demo '$(ROBOT)' $(ARGS) && exec python scripts/photograph_demo.py '$(ROBOT)' $(ARGS)

test:  ## all tests; some packages: make test ARGS="soro_node soro_driver -- -x"
	@python3 scripts/setup_workspace.py --all $(if $(ARGS),,--warm stiff_flop)
	@$(in_workspace) exec python scripts/run_tests.py $(ARGS)

test-jazzy:  ## build, unit tests and one robot with ROS 2 Jazzy
	@python3 scripts/setup_workspace.py --distribution jazzy --all $(if $(ARGS),,--warm stiff_flop)
	@$(in_jazzy) exec python scripts/run_tests.py --smoke $(ARGS)

test-ros: setup  ## one robot with the real ros2 launch, CLI, bags, RViz and ament lint, where they are installed
	@$(in_workspace) exec python scripts/real_ros.py $(ARGS)

lint: setup  ## style, types, import contracts, package and launch files, house rules
	@$(in_workspace) exec python scripts/lint.py

format: setup  ## sort imports and lay out the Python sources
	@$(in_workspace) ruff check --quiet --select I --fix . ; ruff format .

bench: setup  ## benchmarks, one core, with median and 99th percentile
	@$(in_workspace) exec python scripts/run_benchmarks.py $(ARGS)

validate: setup  ## published numbers beside ours
	@$(in_workspace) exec python -m soro_studies.validation $(ARGS)

reliability: setup  ## every injected fault, stops and their senders, launchers killed, into docs/evidence/reliability.md (an hour)
	@$(in_workspace) worst=0; \
	python -m soro_studies.system.launcher_deaths || worst=1; \
	python -m soro_studies.system.fault_matrix $(ARGS) || worst=1; \
	python -m soro_studies.system.stop_proof || worst=1; exit $$worst

soak: setup  ## robots under load with faults, into docs/evidence/reliability.md: make soak ARGS="--robots stiff_flop --minutes 30"
	@$(in_workspace) exec python -m soro_studies.system.soak $(ARGS)

docs:  ## the documentation as a site, with search and API reference, in out/docs; a warning fails it
	@python3 scripts/docs_site.py

pictures: setup  ## draw the pictures of the documentation
	@$(in_workspace) exec python scripts/draw_pictures.py $(ARGS)

figures: setup  ## figures of a paper as PNG, PDF and CSV in out/figures: make figures PAPER=akbari-2021
	@$(in_workspace) exec python scripts/paper_figures.py '$(PAPER)' $(ARGS)

clean:  ## remove builds, results and caches; the environments stay (make distclean removes them)
	rm -rf build install log out .cache .numba .jazzy docs/api
	find src scripts underlay -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean  ## clean, and the Python environments too
	rm -rf .venv .venv-jazzy .venv-docs .venv-peers
