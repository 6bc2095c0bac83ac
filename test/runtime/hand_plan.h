// Plans built by hand: steps that state what they read and write, and have no code.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

constexpr Place input(int i, int64_t offset = 0) { return {Place::Input, i, offset}; }
constexpr Place constant(int i, int64_t offset = 0) { return {Place::Constant, i, offset}; }
constexpr Place output(int i, int64_t offset = 0) { return {Place::Output, i, offset}; }
constexpr Place scratch(int64_t offset) { return {Place::Scratch, 0, offset}; }

template <class S>
S step_of(std::vector<Access> reads, std::vector<Access> writes) {
  S s;
  s.reads = std::move(reads);
  s.writes = std::move(writes);
  return s;
}
inline Launch launch(std::vector<Access> reads, std::vector<Access> writes) {
  Launch l = step_of<Launch>(std::move(reads), std::move(writes));
  l.name = "launch";
  return l;
}
inline Launch checking(std::vector<Access> reads, std::vector<Access> writes) {
  Launch l = launch(std::move(reads), std::move(writes));
  l.checks = true;
  return l;
}

// Outputs of 64 bytes that hold the values 100, 101, …; two inputs, a constant.
inline Plan plan_of(std::vector<Step> steps, std::vector<int> donors = {-1}) {
  Plan p;
  p.steps = std::move(steps);
  p.scratch_bytes = 256;
  p.constants = {empty_tensor(DType::F32, {16})};
  for (int donor : donors) {
    const int i = static_cast<int>(p.outputs.size());
    p.outputs.push_back({DType::F32, {16}, {1}, output(i), 100 + i});
    p.output_buffers.push_back({64, donor});
  }
  return p;
}

}  // namespace sheaf::runtime
