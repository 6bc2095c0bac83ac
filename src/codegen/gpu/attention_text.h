// What the templates for attention share: the words that their texts are filled with, and their parameters.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/attention.h"

namespace sheaf::codegen::gpu {

// Texts are formats. Words in braces: {t} the type that is computed in, {s} the one of arrays, {load}/{load_end} and
// {store}/{store_end} around a value that is read or written, {fma}, {max}, {decay} and {log} functions, {lowest} minus
// infinity; {mask_parameters} and {add_mask} what a mask takes.
class AttentionText {
 public:
  AttentionText(const routines::AttentionArgs<>& a, Helpers& helpers);
  // Fills a text; `more` are words of its own.
  template <class... Args>
  std::string fill(std::string_view text, const std::string& name, const Args&... more) const {
    const Dialect& d = helpers_.dialect();
    return fmt::format(fmt::runtime(text), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                       fmt::arg("global", d.global), fmt::arg("shared", d.shared), fmt::arg("thread", d.thread),
                       fmt::arg("block", d.block), fmt::arg("num_blocks", d.num_blocks),
                       fmt::arg("barrier", d.block_barrier), fmt::arg("t", type_), fmt::arg("s", stored_),
                       fmt::arg("load", load_), fmt::arg("store", store_), fmt::arg("fma", fma_), fmt::arg("max", max_),
                       fmt::arg("decay", decay_), fmt::arg("log", log_), fmt::arg("lowest", lowest_),
                       fmt::arg("range", range_), fmt::arg("heads", kHeads), fmt::arg("strides", kStrides),
                       fmt::arg("mask_parameters", mask_parameters_), fmt::arg("shown", shown_),
                       fmt::arg("add_mask", add_mask_), more...);
  }
  // Bytes of a value that is computed with.
  int64_t value_bytes() const { return value_bytes_; }

  // The parameters from q to window, and the mask's.
  void add_operands(const std::vector<int32_t>& buffers, std::vector<Parameter>& out) const;
  void add_mask(const std::vector<int32_t>& buffers, int mask_buffer, std::vector<Parameter>& out) const;
  // Those named by kHeads and kStrides, and by the mask's part of them.
  void add_sizes(std::vector<Parameter>& out) const;

  static constexpr std::string_view kHeads = "int heads, int groups, int rows, int columns, int depth, int width";
  static constexpr std::string_view kStrides =
      "long long q_batch, long long q_head,\n    long long q_row, long long q_depth, long long k_batch, long long "
      "k_head, long long k_row, long long k_depth,\n    long long v_batch, long long v_head, long long v_row, long "
      "long "
      "v_depth, long long scale_batch,\n    long long offset_batch, long long window_batch";

 private:
  const routines::AttentionArgs<>& a_;
  Helpers& helpers_;
  int64_t value_bytes_;
  std::string type_, stored_, load_, store_, fma_, max_, decay_, log_, lowest_, range_, mask_parameters_, shown_,
      add_mask_;
};

}  // namespace sheaf::codegen::gpu
