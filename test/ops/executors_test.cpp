// Every op through the reference executor, the block executor, native code and as programs run it: the same bits for
// all dtypes, odd shapes and storage orders, and the same first failed check.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "codegen/block/block.h"
#include "codegen/llvm/native.h"
#include "compiler/eager.h"
#include "kernels/kernels.h"
#include "loop/reference.h"
#include "ops/canonical.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/specialize.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::ops {
namespace {

// Compiling takes longer than everything else here: cases share kernels, and unless SHEAF_ALL_NATIVE is set only some
// dtypes are compiled.
bool is_compiled(DType d) {
  static const bool all = std::getenv("SHEAF_ALL_NATIVE") != nullptr;
  return codegen::native_available() && (all || d == DType::F32 || d == DType::BF16 || d == DType::I64);
}
const runtime::CpuKernel& native_kernel(const loop::Kernel& kernel, std::span<const int64_t> sizes) {
  static auto* known = new std::map<std::string, std::shared_ptr<const runtime::CpuKernel>>;
  loop::Kernel kernels[] = {passes::specialize(kernel, passes::known_sizes(kernel, sizes))};
  auto& entry = (*known)[loop::print(kernels[0])];
  if (!entry) {
    kernels[0] = passes::expand_math(kernels[0]);
    loop::verify(kernels[0]);
    entry = codegen::load_native_object(codegen::make_native_object(kernels))[0];
  }
  return *entry;
}

void compare(const OpDef& op, const OpCase& c, const std::vector<Tensor>& in) {
  Launch l = canonical(op, c, in);
  loop::Kernel kernel = kernel_of(op, l);
  loop::verify(kernel);
  Outcome reference = outcome(
      l, [&](auto&... args) { loop::run_reference(kernel, args..., kernels::arithmetic_of(runtime::host_target())); });
  auto block = codegen::BlockKernel::compile(kernel);
  Outcome actual = outcome(l, [&](auto&... args) { block->run(args...); });
  Outcome native = actual;
  if (is_compiled(in.empty() ? DType::F32 : in[0].dtype))
    native = outcome(l, [&](auto& buffers, auto& sizes, auto& check) {
      check.site = native_kernel(kernel, sizes).run(buffers, sizes, check.payload);
    });
  EXPECT_EQ(reference.check.site, actual.check.site);
  EXPECT_EQ(reference.check.site, native.check.site);
  if (reference.check.failed()) {
    EXPECT_EQ(reference.check.payload, actual.check.payload);
    EXPECT_EQ(reference.check.payload, native.check.payload);
    return;
  }
  for (size_t i = 0; i < reference.out.size(); ++i)
    EXPECT_TRUE(same_bits(reference.out[i], actual.out[i])) << "block executor, output " << i;
  for (size_t i = 0; i < reference.out.size(); ++i)
    EXPECT_TRUE(same_bits(reference.out[i], native.out[i])) << "native code, output " << i;
  std::vector<TensorType> types = op.infer({types_of(in), c.attrs});
  std::vector<Tensor> eager = compiler::run_op(op, in, c.attrs, types);
  for (size_t i = 0; i < eager.size(); ++i) {
    Tensor expected = reference.out[i];
    expected.sizes = to_dims(types[i].sizes);
    expected.strides = contiguous_strides(expected.sizes);
    EXPECT_TRUE(same_bits(expected, eager[i])) << "run_op, output " << i;
  }
}

void compare_all(const OpDef& op) {
  runtime::set_num_threads(2);
  Rng rng(test_seed());
  for (DType dtype : dtypes_of(op))
    for (const OpCase& c : cases_of(op, dtype, Data::Wild))
      for (Storage how : kStorages) {
        std::vector<Tensor> in = c.make(rng);
        // Broadcasting an index is fine too: it is only read.
        for (Tensor& t : in)
          t = stored_as(t, how);
        SCOPED_TRACE(c.label + " " + std::string(sheaf::name_of(dtype)) + " " + name_of(how) +
                     " SHEAF_SEED=" + std::to_string(rng.seed));
        compare(op, c, in);
        if (::testing::Test::HasFailure()) return;
      }
}

class Executors : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Executors, Agree) { compare_all(*GetParam()); }

std::vector<const OpDef*> computed_ops() {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->scalar || d->lower) out.push_back(d);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, Executors, ::testing::ValuesIn(computed_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

// Larger than one parallel chunk and many vector blocks.
TEST(Executors, AgreeOnLargeArrays) {
  Rng rng(test_seed());
  for (const char* name : {"add", "mul", "exp", "where", "lt"})
    for (DType dtype : {DType::F32, DType::F64, DType::BF16}) {
      const OpDef& d = op(name);
      if (!d.dtypes.has(dtype)) continue;
      OpCase c{name, {}, nullptr};
      std::vector<Tensor> in{wild_tensor(rng, dtype, {17, 1009}), wild_tensor(rng, dtype, {1009})};
      if (d.reference1) in.pop_back();
      if (d.name == "where") in.insert(in.begin(), wild_tensor(rng, DType::Bool, {17, 1}));
      SCOPED_TRACE(std::string(name) + " SHEAF_SEED=" + std::to_string(rng.seed));
      compare(d, c, in);
    }
}

TEST(Executors, AgreeOnTheFirstBadIndex) {
  Rng rng(test_seed());
  OpCase c{"take", {{"who", std::string("take")}, {"wrap", false}, {"how", int64_t{0}}}, nullptr};
  for (const char* name : {"take", "scatter"}) {
    Tensor index = index_tensor(rng, {9}, 4);
    index.data_mut<int64_t>()[3] = 40;
    index.data_mut<int64_t>()[7] = -1;
    std::vector<Tensor> in{wild_tensor(rng, DType::F32, {3, 4, 2}), index};
    if (std::string(name) == "scatter") in.push_back(wild_tensor(rng, DType::F32, {3, 9, 2}));
    SCOPED_TRACE(name);
    compare(op(name), c, in);
    EXPECT_ANY_THROW(compiler::run_op(op(name), in, c.attrs, op(name).infer({types_of(in), c.attrs})));
  }
}

// Movement ops that are only views, against their definition by indices.
TEST(Views, AreWhatTheySay) {
  Rng rng(test_seed());
  auto at = [](const Tensor& t, const Dims& index) {
    int64_t offset = t.offset;
    for (int a = 0; a < t.rank(); ++a)
      offset += index[a] * t.strides[a];
    return load_double(t.dtype, t.buffer->host() + offset * size_bytes(t.dtype));
  };
  for (const char* name : {"transpose", "broadcast", "slice", "reshape"})
    for (DType dtype : {DType::F32, DType::I8, DType::I64})
      for (const OpCase& c : cases_of(op(name), dtype, Data::Smooth))
        for (Storage how : kStorages) {
          Tensor x = stored_as(c.make(rng)[0], how);
          Tensor y = compiler::run_op(op(name), {x}, c.attrs, op(name).infer({types_of({x}), c.attrs}))[0];
          SCOPED_TRACE(c.label + " " + name_of(how) + " SHEAF_SEED=" + std::to_string(rng.seed));
          Dims index(y.rank(), 0);
          for (int64_t k = 0; k < y.num_elems(); ++k) {
            int64_t rest = k;
            for (int a = y.rank(); a-- > 0; rest /= y.sizes[a])
              index[a] = rest % y.sizes[a];
            Dims from(x.rank(), 0);
            int64_t flat = k;
            for (int a = x.rank(); a-- > 0;) {
              if (op(name).name == "transpose")
                from[c.attrs.sizes("perm")[a].value()] = index[a];
              else if (op(name).name == "broadcast")
                from[a] = x.sizes[a] == 1 ? 0 : index[y.rank() - x.rank() + a];
              else if (op(name).name == "slice")
                from[a] = c.attrs.sizes("starts")[a].value() + index[a] * c.attrs.sizes("steps")[a].value();
              else
                from[a] = flat % x.sizes[a], flat /= x.sizes[a];
            }
            ASSERT_EQ(at(x, from), at(y, index)) << "element " << k;
          }
        }
}

}  // namespace
}  // namespace sheaf::ops
