// Programs nobody would write: random calls of every built-in with arguments of any type, and mutations of good texts.
#pragma once
#include "fuzz/harness.h"

namespace fuzz {

// Mostly ill typed; every built-in without effects on the outside world occurs.
std::string wild_program(Rng& rng);

// The programs of the *.cases files in a folder, without those that touch files, the clock or the process.
std::vector<std::string> read_corpus(const std::string& folder);
// One text changed in a few places, with parts of the others.
std::string mutated(Rng& rng, const std::vector<std::string>& corpus);

// True when a program may give another result every time, or must not be run at all.
bool touches_world(const std::string& program);

}  // namespace fuzz
