//===- AttnFuzz.cpp - Random graphs, fused against the twin ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child process does the work, so that a crash is one more failure: the
// parent names the seed and goes on with the next one. Exit codes: 0 done, 1
// bad usage, 3 a failure.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "attn/Support/HostTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using namespace attn::fuzz;
using namespace llvm;

/// Of processor time, after which a graph counts as one that never ends.
static constexpr int kSecondsPerGraph = 120;

/// Targets with and without each unit that kernels are written for.
static constexpr const char *kTargets[] = {
    "native",    "sapphirerapids", "znver5", "cooperlake",
    "x86-64-v4", "x86-64-v3",      "x86-64"};

namespace {

/// What the child tells, in shared memory.
struct Shared {
  Progress progress;
  uint64_t failures = 0;
};

struct Options {
  cl::opt<uint64_t> seed{"seed", cl::init(0), cl::desc("First seed")};
  cl::opt<uint64_t> count{"count", cl::init(500), cl::desc("Graphs")};
  cl::opt<bool> print{"print", cl::desc("Print the graphs, run nothing")};
  cl::list<std::string> targets{"target", cl::CommaSeparated,
                                cl::desc("Instead of all of the host")};
  cl::opt<std::string> output{"output", cl::init("fuzz-failures"),
                              cl::desc("Folder for what fails")};
};

} // namespace

static void report(uint64_t seed, const Graph &graph, StringRef text,
                   StringRef folder) {
  errs() << formatv("FAILED seed {0} ({1}): {2}\n  sh {3}/seed-{0}.sh\n", seed,
                    graph.target, text.rtrim(), folder);
}

/// The seeds from `begin` up to `end`. Every graph may write to `shared`.
static void work(uint64_t begin, uint64_t end,
                 const std::vector<std::string> &targets, StringRef folder,
                 Shared &shared) {
  for (uint64_t seed = begin; seed != end; ++seed) {
    itimerval limit{{0, 0}, {kSecondsPerGraph, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    Graph graph = makeGraph(seed, targets);
    std::string text = check(graph, folder, shared.progress);
    if (!text.empty()) {
      ++shared.failures;
      report(seed, graph, text, folder);
    }
  }
}

int main(int argc, char **argv) {
  Options options;
  cl::ParseCommandLineOptions(argc, argv,
                              "random graphs, fused against the twin in f64\n");
  std::vector<std::string> targets(options.targets.begin(),
                                   options.targets.end());
  if (targets.empty())
    for (const char *name : kTargets) {
      auto target = resolveTarget(name);
      if (!target)
        consumeError(target.takeError());
      else if (Error error = hostCanExecute(*target))
        consumeError(std::move(error));
      else
        targets.push_back(name);
    }
  uint64_t begin = options.seed, end = begin + options.count;
  if (options.print) {
    for (; begin != end; ++begin)
      outs() << makeGraph(begin, targets).text;
    return 0;
  }
  if (std::error_code code = sys::fs::create_directories(options.output)) {
    errs() << "error: " << options.output << ": " << code.message() << "\n";
    return 1;
  }
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  Shared &shared = *new (memory) Shared;
  uint64_t first = begin;
  while (begin != end) {
    shared.progress.seed = begin;
    pid_t child = fork();
    if (child == 0) {
      work(begin, end, targets, options.output, shared);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    const Progress &progress = shared.progress;
    ++shared.failures;
    std::string how =
        WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit";
    report(progress.seed, makeGraph(progress.seed, targets),
           formatv("{0} while {1}, call {2}", how, progress.step, progress.call)
               .str(),
           options.output);
    begin = progress.seed + 1;
  }
  outs() << formatv("{0} graphs from seed {1} on {2}: {3} failed\n",
                    options.count, first, join(targets, ", "), shared.failures);
  return shared.failures ? 3 : 0;
}
