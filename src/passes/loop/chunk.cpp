// 1. A nest is a chain of Free loops and a Vector loop; one Serial loop may be the whole body of the Vector loop.
// 2. The Free loops and the chunks of the Vector loop become one Parallel loop.
// 3. Its body is one chunk of the Vector loop; or the Serial loop, whose body computes the values common to all
//    elements first and the others in a chunk of the Vector loop.
#include "passes/loop/chunk.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "passes/loop/rewrite.h"

namespace sheaf::passes {
namespace {

using loop::Block;
using loop::Inst;
using loop::kNoValue;
using loop::Mark;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

// Elements per chunk: enough work to pay for scheduling it. Powers of two: see `hoist_words`.
constexpr int64_t kCheapElements = 16384;
constexpr int64_t kDearElements = 4096;
constexpr size_t kDearValues = 100;  // values per element from which on it counts as expensive: random numbers do
// Each chunk repeats the Serial loop, so a chunk is only as wide as fills a few vectors.
constexpr int64_t kSerialElements = 64;

struct Nest {
  std::vector<const Stmt*> free;  // from the outermost
  const Stmt* vector = nullptr;
  const Stmt* serial = nullptr;  // or none
};

// The only loop of a block that contains nothing but values besides; else null.
const Stmt* only_loop(const Block& b) {
  const Stmt* found = nullptr;
  for (const Stmt& s : b) {
    if (s.kind == Stmt::Let) continue;
    if (s.kind != Stmt::Loop || found) return nullptr;
    found = &s;
  }
  return found;
}

// Reductions inside a Vector loop are sums over columns: back ends split them by size, along rows too.
bool has_call_or_reduction(const Block& b) {
  return std::any_of(b.begin(), b.end(), [](const Stmt& s) {
    return s.kind == Stmt::Call || s.kind == Stmt::Reduce || has_call_or_reduction(s.body);
  });
}

class Chunker final : public Rewriter {
 public:
  explicit Chunker(const loop::Kernel& k) : Rewriter(k), k_(k) {}

  bool has_work() const {
    return std::any_of(k_.body.begin(), k_.body.end(),
                       [&](const Stmt& s) { return s.kind == Stmt::Loop && nest_at(s); });
  }

 private:
  bool is_known_outside(ValueId v) const {
    Op op = k_.values[v].op;
    if (op == Op::Const || op == Op::Size) return true;
    return std::any_of(k_.body.begin(), k_.body.end(),
                       [&](const Stmt& s) { return s.kind == Stmt::Let && s.value == v; });
  }

  std::optional<Nest> nest_at(const Stmt& top) const {
    Nest n;
    const Stmt* s = &top;
    for (; s && s->mark == Mark::Free; s = only_loop(s->body)) {
      if (!is_known_outside(s->extent)) return {};
      n.free.push_back(s);
    }
    if (!s || s->mark != Mark::Vector || !is_known_outside(s->extent) || has_call_or_reduction(s->body)) return {};
    n.vector = s;
    if (const Stmt* inner = only_loop(s->body); inner && can_move(*inner, s->axis)) n.serial = inner;
    return n;
  }

  // True if a loop inside a Vector loop over `axis` may move around it. Elements are independent, so it may, unless a
  // value common to them is loaded from memory that they write.
  bool can_move(const Stmt& s, int axis) const {
    if (s.mark != Mark::Serial || !is_known_outside(s.extent)) return false;
    std::vector<bool> varies = varying(axis);
    return std::all_of(s.body.begin(), s.body.end(), [&](const Stmt& t) {
      if (t.kind == Stmt::Store) return static_cast<bool>(varies[t.offset]);
      const Inst* v = t.kind == Stmt::Let ? &k_.values[t.value] : nullptr;
      return v && (v->op != Op::Load || varies[t.value] || !k_.buffers[static_cast<size_t>(v->imm)].written);
    });
  }

  // For each value: whether it varies between the iterations of a loop.
  std::vector<bool> varying(int axis) const {
    std::vector<bool> varies(k_.values.size(), false);
    for (size_t v = 0; v < k_.values.size(); ++v) {
      varies[v] = is_index(static_cast<ValueId>(v), axis);
      for (ValueId a : k_.values[v].args)
        if (a != kNoValue && varies[a]) varies[v] = true;
    }
    return varies;
  }

  bool is_index(ValueId v, int axis) const {
    return v != kNoValue && k_.values[v].op == Op::Index && k_.values[v].imm == axis;
  }

  bool rewrite_loop(const Stmt& s) override {
    bool is_top_level = &s >= k_.body.data() && &s < k_.body.data() + k_.body.size();
    if (!is_top_level) return false;
    std::optional<Nest> nest = nest_at(s);
    if (nest) rewrite(*nest);
    return nest.has_value();
  }

  static int64_t chunk_elements(const Nest& n) {
    if (n.serial) return kSerialElements;
    return n.vector->body.size() < kDearValues ? kCheapElements : kDearElements;
  }

  void rewrite(const Nest& n) {
    loop::Builder& b = builder();
    elements_ = chunk_elements(n);
    V step = b.i64(elements_);
    V chunks = b.binary(Op::FloorDiv, b.add(mapped(n.vector->extent), b.i64(elements_ - 1)), step);
    V count = chunks;
    for (const Stmt* s : n.free)
      count = b.mul(mapped(s->extent), count);
    V at = b.begin_loop(count, Mark::Parallel), chunk = at;
    if (!n.free.empty()) {
      V rest = b.binary(Op::FloorDiv, at, chunks);
      chunk = b.binary(Op::FloorMod, at, chunks);
      for (size_t i = n.free.size(); i-- > 1;) {
        V extent = mapped(n.free[i]->extent);
        set_index(n.free[i]->axis, b.binary(Op::FloorMod, rest, extent));
        rest = b.binary(Op::FloorDiv, rest, extent);
      }
      set_index(n.free[0]->axis, rest);
    }
    base_ = b.mul(chunk, step);
    for (const Stmt* s : n.free)
      block_without_loop(s->body);
    if (n.serial)
      serial_around_vector(n);
    else
      vector_loop(*n.vector, n.vector->body);
    b.end();
  }

  void block_without_loop(const Block& all) {
    Block lets;
    std::copy_if(all.begin(), all.end(), std::back_inserter(lets), [](const Stmt& s) { return s.kind != Stmt::Loop; });
    block(lets);
  }

  void serial_around_vector(const Nest& n) {
    std::vector<bool> varies = varying(n.vector->axis);
    Block shared, own;
    for (const Block* b : {&n.vector->body, &n.serial->body})
      for (const Stmt& s : *b)
        if (s.kind != Stmt::Loop) (s.kind == Stmt::Let && !varies[s.value] ? shared : own).push_back(s);
    loop::Builder& b = builder();
    set_index(n.serial->axis, b.begin_loop(mapped(n.serial->extent), Mark::Serial));
    block(shared);
    vector_loop(*n.vector, own);
    b.end();
  }

  void vector_loop(const Stmt& s, const Block& body) {
    loop::Builder& b = builder();
    hoist_words(s);
    lane_ = b.begin_loop(b.min(b.i64(elements_), b.sub(mapped(s.extent), base_)), Mark::Vector);
    set_index(s.axis, b.add(base_, lane_));
    block(body);
    b.end();
  }

  // A chunk starts at a multiple of a power of two: all its indices have the same upper bits, and the low word of an
  // index is that of the first one plus the lane. Random numbers split an index into words in this way.
  void hoist_words(const Stmt& vector) {
    loop::Builder& b = builder();
    words_.assign(k_.values.size(), kNoValue);
    for (const Stmt& s : vector.body) {
      if (s.kind != Stmt::Let) continue;
      const Inst& v = k_.values[s.value];
      if (!is_index(v.args[0], vector.axis)) continue;
      if (v.op == Op::Convert && v.type == DType::U32) words_[s.value] = b.convert(base_, DType::U32);
      if (v.op != Op::Shr) continue;
      const Inst& bits = k_.values[v.args[1]];
      if (bits.op == Op::Const && bits.imm >= std::countr_zero(static_cast<uint64_t>(elements_)) && bits.imm < 64)
        words_[s.value] = b.shr(base_, b.i64(bits.imm));
    }
  }

  V replace(const Inst& inst, V a, V b, V c) override {
    V word = words_.empty() ? kNoValue : words_[static_cast<size_t>(&inst - k_.values.data())];
    if (word == kNoValue) return Rewriter::replace(inst, a, b, c);
    return inst.op == Op::Shr ? word : builder().add(word, builder().convert(lane_, DType::U32));
  }

  const loop::Kernel& k_;
  int64_t elements_ = 0;  // per chunk
  V base_ = kNoValue;     // the first index of the chunk
  V lane_ = kNoValue;
  std::vector<V> words_;  // by value: its part that is common to the whole chunk
};

}  // namespace

loop::Kernel chunk(const loop::Kernel& k) {
  Chunker c(k);
  return c.has_work() ? c.run() : k;
}

}  // namespace sheaf::passes
