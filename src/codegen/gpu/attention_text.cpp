#include "codegen/gpu/attention_text.h"

#include <array>

#include "loop/builder.h"
#include "scalar/math/elementary.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::MaskKind;

// The columns that rows [first, last] may see by position (routines::Sight).
constexpr std::string_view kRange = R"({function} void {name}(long long first, long long last, long long offset,
    long long window, long long columns, long long* begin, long long* end) {{
  *begin = first + offset - window + 1;
  if (*begin < 0) *begin = 0;
  *end = last + offset + window;
  if (*end > columns) *end = columns;
{causal}  if (window == 0 || *begin >= *end) *begin = *end = 0;
}}
)";

// An elementary function as a device function: the same arithmetic as everywhere, one instruction a line.
template <class T, class F>
std::string elementary(Helpers& helpers, const std::string& name, DType d, F expand) {
  return helpers.function(name, [&](const std::string& name) {
    Arithmetic arithmetic(helpers);
    loop::Builder b(name);
    b.buffer(d, false);
    b.buffer(d, true);
    const loop::ValueId zero = b.i64(0), x = b.load(0, zero);
    const loop::ValueId result = expand(scalar::math::Scalar<loop::Builder, T>(b, x)).v;
    b.store(1, zero, result);
    const loop::Kernel k = b.finish();
    std::string text = fmt::format("{0} {1} {2}({1} x) {{\n", helpers.dialect().function, type_name(d), name);
    auto ref = [&](loop::ValueId v) -> std::string {
      if (v == loop::kNoValue) return "";
      const loop::Inst& inst = k.values[v];
      if (inst.op == Op::Const) {
        const std::string constant = arithmetic.constant(inst.type, inst.imm);
        return constant[0] == '-' ? "(" + constant + ")" : constant;
      }
      return v == x ? "x" : fmt::format("v{}", v);
    };
    for (loop::ValueId v = x + 1; v < static_cast<loop::ValueId>(k.values.size()); ++v) {
      const loop::Inst& inst = k.values[v];
      if (inst.op == Op::Const) continue;
      text += fmt::format("  const {} v{} = {};\n", type_name(inst.type), v,
                          arithmetic.apply(inst, {ref(inst.args[0]), ref(inst.args[1]), ref(inst.args[2])}));
    }
    return text + fmt::format("  return {};\n}}\n", ref(result));
  });
}

}  // namespace

AttentionText::AttentionText(const routines::AttentionArgs<>& a, Helpers& helpers) : a_(a), helpers_(helpers) {
  const DType t = a.dtype == DType::F64 ? DType::F64 : DType::F32;
  value_bytes_ = size_bytes(t);
  type_ = type_name(t);
  stored_ = type_name(a.dtype);
  if (t != a.dtype) {
    load_ = helpers.conversion(a.dtype, t);
    store_ = helpers.conversion(t, a.dtype);
  }
  const std::string_view fma = helpers.words(t).fma;
  fma_ = fma.substr(0, fma.find('('));
  max_ = helpers.operation(Op::Max, t);
  lowest_ = Arithmetic(helpers).identity(loop::Combine::Max, t);
  auto decay = [](auto x) { return scalar::math::decay(x); };
  auto log = [](auto x) { return scalar::math::log(x); };
  decay_ = t == DType::F64 ? elementary<double>(helpers, "decay_f64", t, decay)
                           : elementary<float>(helpers, "decay_f32", t, decay);
  log_ =
      t == DType::F64 ? elementary<double>(helpers, "log_f64", t, log) : elementary<float>(helpers, "log_f32", t, log);
  range_ = helpers.function(a.causal ? "seen_columns_causal" : "seen_columns", [&](const std::string& name) {
    return fmt::format(
        fmt::runtime(kRange), fmt::arg("function", helpers.dialect().function), fmt::arg("name", name),
        fmt::arg("causal", a.causal ? "  if (*end > last + offset + 1) *end = last + offset + 1;\n" : ""));
  });
  if (a.mask == MaskKind::None) {
    shown_ = "true";
    return;
  }
  const std::string_view global = helpers.dialect().global;
  constexpr std::string_view kAt = "mask[b * mask_batch + h * mask_head + i * mask_row + j * mask_column]";
  mask_parameters_ = fmt::format(
      ",\n    {}const {}* mask, long long mask_batch, long long mask_head, long long mask_row, long long mask_column",
      global, a.mask == MaskKind::Bool ? "bool" : stored_);
  shown_ = a.mask == MaskKind::Bool ? kAt : "true";
  if (a.mask == MaskKind::Added) add_mask_ = fmt::format(" + {}({})", load_, kAt);
}

void AttentionText::add_operands(const std::vector<int32_t>& buffers, std::vector<Parameter>& out) const {
  for (size_t i = 0; i < 6; ++i)
    out.push_back({Parameter::Buffer, buffers[i]});
}

void AttentionText::add_mask(const std::vector<int32_t>& buffers, int mask_buffer, std::vector<Parameter>& out) const {
  if (a_.mask == MaskKind::None) return;
  out.push_back({Parameter::Buffer, buffers[static_cast<size_t>(mask_buffer)]});
  for (int64_t s : a_.mask_strides)
    out.push_back(number(s, false));
}

void AttentionText::add_sizes(std::vector<Parameter>& out) const {
  for (int64_t n : {a_.heads, a_.groups, a_.rows, a_.columns, a_.depth, a_.width})
    out.push_back(number(n, true));
  for (const auto& strides : {a_.q, a_.k, a_.v})
    for (int64_t s : strides)
      out.push_back(number(s, false));
  for (int64_t s : {a_.scale, a_.offset, a_.window})
    out.push_back(number(s, false));
}

bool has_template(const routines::AttentionArgs<>& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const bool type = a.dtype == DType::F32 || a.dtype == DType::F64 || a.dtype == DType::BF16 || a.dtype == DType::F16;
  return type && a.depth <= kMaxHeadWidth && a.width <= kMaxHeadWidth && a.rows < kMost && a.columns < kMost &&
         a.batch * a.heads < kMost;
}

}  // namespace sheaf::codegen::gpu
