#include "formats/npy.h"

#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;

TEST(Npy, RoundTrip) {
  for (DType d : kAllTypes)
    for (const Dims& sizes : {Dims{}, Dims{4}, Dims{2, 2}, Dims{0, 3}}) {
      Value v = T(d, sizes, std::vector<double>(checked_num_elems(sizes), 1));
      std::string bytes = write_npy(v.as_tensor());
      EXPECT_EQ(bytes.find('\n') % 64, 63u);
      EXPECT_TRUE(tree_equal(parse_npy(bytes), v));
    }
}

TEST(Npy, HeaderText) {
  std::string bytes = write_npy(T(DType::F32, {3}, {1, 2, 3}).as_tensor());
  EXPECT_EQ(bytes.substr(10, 57), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
}

std::string with_header(const std::string& header, const std::string& data = "") {
  auto n = static_cast<uint16_t>(header.size());
  return std::string("\x93NUMPY\1\0", 8) + std::string(reinterpret_cast<const char*>(&n), 2) + header + data;
}

TEST(Npy, ComplexNumbers) {
  const std::string parts[] = {std::string("\0\0\xC0\x3F\0\0\0\xC0", 8), std::string("\x3F\xC0\0\0\xC0\0\0\0", 8)};
  for (const char* order : {"<", ">"}) {
    const std::string header = std::string("{'descr': '") + order + "c8', 'fortran_order': False, 'shape': (1,), }";
    const Tensor z = parse_npy(with_header(header, parts[*order == '>'])).as_tensor();
    EXPECT_EQ(z.dtype, DType::C64);
    EXPECT_EQ(element_text(z, 0), "1.5-2.j");
    EXPECT_NE(write_npy(z).find("'<c8'"), std::string::npos);
  }
}

TEST(Npy, BadFiles) {
  auto error = [](std::string bytes) { return message_of([&] { parse_npy(bytes); }); };
  EXPECT_EQ(error("nothing"), "npy: not an .npy file");
  EXPECT_EQ(error(std::string("\x93NUMPY\7\0", 8)), "npy: unsupported version 7");
  EXPECT_EQ(error(with_header("{}")), "npy: the header is incomplete");
  EXPECT_EQ(error(with_header("{'descr': '<c16', 'fortran_order': False, 'shape': ()}")),
            "npy: unsupported dtype '<c16'");
  EXPECT_EQ(error(with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}")),
            "npy: structured arrays are not supported");
  EXPECT_EQ(error(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234")),
            "an array of shape [2] needs 8 bytes, its data has 4");
  EXPECT_EQ(error(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "1234")),
            "npy: a size is missing in the header's shape");
  EXPECT_EQ(error(with_header("{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", std::string(8, '\xff'))),
            "an unsigned 64-bit element does not fit i64");
}

}  // namespace
}  // namespace sheaf::formats
