// Rebuilds a kernel statement by statement, for passes that replace single values. Parameters keep their numbers.
#pragma once
#include "loop/builder.h"

namespace sheaf::passes {

class Rewriter {
 public:
  explicit Rewriter(const loop::Kernel& k) : k_(k), b_(k.name), map_(k.values.size(), loop::kNoValue) {}
  virtual ~Rewriter() = default;
  loop::Kernel run();

 protected:
  using V = loop::ValueId;
  // Returns the replacement of a value whose operands have become `a`, `b`, `c`; by default the same operation on them.
  virtual V replace(const loop::Inst& inst, V a, V b, V c);
  // The same for run-time size number `i`, whose rebuilt value is `size`.
  virtual V replace_size(int64_t i, V size) { return size; }
  // Returns true if it has rebuilt the loop itself.
  virtual bool rewrite_loop(const loop::Stmt& s) { return false; }
  loop::Builder& builder() { return b_; }
  V mapped(V v);
  void set_index(int axis, V index) { index_[axis] = index; }
  void block(const loop::Block& b);

 private:
  const loop::Kernel& k_;
  loop::Builder b_;
  std::vector<V> map_;
  std::vector<V> sizes_, index_, result_;
};

}  // namespace sheaf::passes
