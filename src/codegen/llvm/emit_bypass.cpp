// Streaming (non-temporal) stores. A normal store that misses the caches first reads the line; a streaming store only
// writes it. So an array too large to stay in the caches for its reader is written in two thirds of the time, or less.
// The size is known only when a launch runs, so the code has both kinds of stores and one branch for each step.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "codegen/llvm/emitter.h"

namespace sheaf::codegen::native {

// Emits the condition on which a vector store should bypass the caches; returns null if it never should.
Value* Emitter::should_bypass(const Stmt& s, const Val* offset, Value* address) {
  const int64_t element_bytes = size_bytes(k_.buffers[static_cast<size_t>(s.id)].dtype);
  const int64_t piece_bytes = std::min<int64_t>(kLineBytes, element_bytes * num_lanes());
  if (host_.bypass_bytes == 0 || num_lanes() != host_.lanes || row_length_ || nest_.empty()) return nullptr;
  if (offset->kind != Val::Affine || !is_constant(offset->stride, 1)) return nullptr;
  // A buffer that the kernel also reads (before or after the store) is in a cache anyway.
  std::set<int64_t> read;
  for (const Inst& inst : k_.values)
    if (inst.op == Op::Load) read.insert(inst.imm);
  if (read.count(s.id)) return nullptr;
  Val* elements = constant(1);
  for (const Stmt* l : nest_)
    elements = uniform(Op::Mul, elements, value(l->extent));
  Value* large = nullptr;
  {
    At at(*this, elements->depth);
    large = b_.CreateICmpSGE(elements->scalar, i64(host_.bypass_bytes / element_bytes));
    for (int64_t other : read)
      large = b_.CreateAnd(large, b_.CreateICmpNE(buffer(s.id), buffer(other)));
  }
  Value* low_bits = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), i64(piece_bytes - 1));
  fn_->bypasses = true;
  return b_.CreateAnd(large, b_.CreateICmpEQ(low_bits, i64(0)));
}

// Stores the pieces of `x` to `addresses`: with streaming stores if `bypass`, else with normal ones.
void Emitter::store_or_bypass(Value* bypass, const Values& x, const Values& addresses, llvm::Align align) {
  BasicBlock *past = new_block("past"), *cached = new_block("cached"), *join = new_block("join");
  b_.CreateCondBr(bypass, past, cached);
  for (BasicBlock* block : {past, cached}) {
    b_.SetInsertPoint(block);
    for (size_t p = 0; p < x.size(); ++p) {
      const uint64_t bytes = m_.getDataLayout().getTypeStoreSize(x[p]->getType());
      llvm::StoreInst* store = b_.CreateAlignedStore(
          x[p], addresses[p], block == past ? llvm::Align(std::min<uint64_t>(bytes, kLineBytes)) : align);
      if (block == past)
        store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                           llvm::MDNode::get(c_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

// Streaming stores are weakly ordered: they must become visible before the store that signals that the work is done, so
// a fence follows them.
void Emitter::finish_bypassing() {
#if defined(__x86_64__)
  if (fn_->bypasses) b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
#endif
}

}  // namespace sheaf::codegen::native
