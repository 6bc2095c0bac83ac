// 1. A value is *shared* if every launch can compute it: arithmetic on shared values, loads from read-only buffers.
// 2. Statements are taken in order. A loop or a call opens a part; other statements join the last part, unless that is
// a
//    loop or a call they need nothing of.
// 3. A statement that needs a value made by an earlier part (a result of a reduction, what was loaded) joins that part
//    and all parts since.
#include "codegen/gpu/split.h"

#include <algorithm>

namespace sheaf::codegen::gpu {
namespace {

using loop::kNoValue;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

class Splitter {
 public:
  explicit Splitter(const loop::Kernel& k)
      : k_(k), maker_(k.values.size(), kShared), result_(k.num_reductions, kShared) {}

  std::vector<Part> run() {
    for (const Stmt& s : k_.body)
      add(s);
    return std::move(parts_);
  }

 private:
  static constexpr int kShared = -1;

  // The earliest part that makes a value that the statement needs; kShared where there is none.
  int needs(const Stmt& s) const {
    int part = kShared;
    auto need = [&](ValueId v) {
      if (v == kNoValue) return;
      const loop::Inst& inst = k_.values[v];
      int by = inst.op == Op::Result ? result_[static_cast<size_t>(inst.imm)] : maker_[v];
      if (by != kShared) part = part == kShared ? by : std::min(part, by);
    };
    auto visit = [&](const Stmt& t) {
      if (t.kind == Stmt::Let)
        for (ValueId a : k_.values[t.value].args)
          need(a);
      else
        need(t.value);
      need(t.extent);
      need(t.offset);
      for (ValueId a : t.arguments)
        need(a);
    };
    visit(s);
    each_stmt(s.body, visit);
    return part;
  }

  bool is_shared(const Stmt& s) const {
    if (s.kind != Stmt::Let || needs(s) != kShared) return false;
    const loop::Inst& inst = k_.values[s.value];
    return inst.op != Op::Load || !k_.buffers[static_cast<size_t>(inst.imm)].written;
  }

  void add(const Stmt& s) {
    if (is_shared(s)) return;
    int from = needs(s);
    const bool opens = s.kind == Stmt::Loop || s.kind == Stmt::Call;
    if (from == kShared) {
      const Stmt* last = parts_.empty() ? nullptr : parts_.back().stmts.back();
      if (opens || !last || last->kind == Stmt::Loop || last->kind == Stmt::Call) parts_.emplace_back();
    } else {
      join_from(static_cast<size_t>(from));
    }
    parts_.back().stmts.push_back(&s);
    const int own = static_cast<int>(parts_.size()) - 1;
    if (s.kind == Stmt::Let) maker_[s.value] = own;
    if (s.kind == Stmt::Reduce) result_[static_cast<size_t>(s.id)] = own;
  }

  void join_from(size_t from) {
    for (size_t p = from + 1; p < parts_.size(); ++p)
      parts_[from].stmts.insert(parts_[from].stmts.end(), parts_[p].stmts.begin(), parts_[p].stmts.end());
    parts_.resize(from + 1);
    for (std::vector<int>* makers : {&maker_, &result_})
      for (int& m : *makers)
        m = std::min(m, static_cast<int>(from));
  }

  const loop::Kernel& k_;
  std::vector<Part> parts_;
  std::vector<int> maker_;   // by value: the part that makes it
  std::vector<int> result_;  // the same by reduction
};

}  // namespace

std::vector<Part> split(const loop::Kernel& k) { return Splitter(k).run(); }

bool calls_inside_loops(const loop::Kernel& k) {
  bool found = false;
  for (const Stmt& s : k.body)
    each_stmt(s.body, [&](const Stmt& t) { found |= t.kind == Stmt::Call; });
  return found;
}

}  // namespace sheaf::codegen::gpu
