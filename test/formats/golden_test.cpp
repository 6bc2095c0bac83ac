// Files written by other programs (make_goldens.py), each compared with the expected value in JSON.
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/csv.h"
#include "formats/files.h"
#include "formats/jpeg.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "formats/png.h"
#include "formats/torch.h"
#include "formats/wav.h"
#include "support/error.h"
#include "value/dict.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

namespace fs = std::filesystem;
const std::string kGoldens = std::string(TEST_DIR) + "/goldens/";

TEST(Goldens, LoadAsExpected) {
  constexpr std::string_view kSuffix = ".expected.json";
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kGoldens)) {
    std::string expected = entry.path().string();
    if (!expected.ends_with(kSuffix)) continue;
    std::string path = expected.substr(0, expected.size() - kSuffix.size());
    SCOPED_TRACE(path);
    try {
      bool objects = fs::path(path).filename().native().starts_with("unknown");
      if (objects) {
        EXPECT_THROW(load_value(path), UserError);
      }
      Value got = load_value(path, {.objects = objects ? Objects::Skip : Objects::Refuse});
      Value want = parse_json(read_file(expected));
      EXPECT_TRUE(tree_equal(got, want)) << render(got) << "\nexpected\n" << render(want);
    } catch (const UserError& e) {
      ADD_FAILURE() << e.message;
    }
    ++count;
  }
  EXPECT_GE(count, 105);
}

// Written files read back unchanged: the readers were checked against other programs above.
TEST(Goldens, PicturesTablesAndSoundComeBack) {
  for (std::string name : {"grey.png", "rgb.png", "rgba.png", "la.png", "wide.png", "palette.png", "photo.png"}) {
    Value v = load_value(kGoldens + name);
    EXPECT_TRUE(tree_equal(parse_png(write_png(v)), v)) << name;
  }
  for (std::string name : {"frame.csv", "matrix.csv"}) {
    Value v = load_value(kGoldens + name);
    EXPECT_TRUE(tree_equal(parse_csv(write_csv(v)), v)) << write_csv(v);
  }
  Value sound = load_value(kGoldens + "sound16.wav"), lines = load_value(kGoldens + "rows.jsonl");
  EXPECT_TRUE(tree_equal(parse_wav(write_wav(sound)), sound));
  EXPECT_TRUE(tree_equal(parse_json_lines(write_json_lines(lines)), lines));
}

// JPEG is lossy, and loses less at higher quality.
TEST(Goldens, JpegComesNear) {
  for (std::string name : {"baseline-420.jpg", "grey.png", "ramp.png"}) {
    Value v = load_value(kGoldens + name);
    const Tensor& t = v.as_tensor();
    auto distance = [&](int quality) {
      Tensor back = parse_jpeg(write_jpeg(v, quality)).as_tensor();
      EXPECT_EQ(back.sizes, t.sizes) << name;
      double sum = 0;
      for (int64_t i = 0; i < t.num_elems(); ++i) {
        double by = load_double(DType::U8, back.bytes() + i) - load_double(DType::U8, t.bytes() + i);
        sum += by * by;
      }
      return std::sqrt(sum / static_cast<double>(t.num_elems()));
    };
    EXPECT_LT(distance(100), 4) << name;
    EXPECT_LE(distance(100), distance(30)) << name;
    EXPECT_LT(write_jpeg(v, 10).size(), write_jpeg(v, 100).size()) << name;
  }
}

TEST(Goldens, DamagedJpegIsRefused) {
  std::string whole = read_file(kGoldens + "baseline-420.jpg"), progressive = read_file(kGoldens + "progressive.jpg");
  auto message_of = [](std::string bytes) -> std::string {
    try {
      parse_jpeg(bytes);
    } catch (const UserError& e) {
      return e.message;
    }
    return "";
  };
  for (const std::string& picture : {whole, progressive})
    for (size_t n = 3; n + 2 < picture.size(); n += 7)
      EXPECT_TRUE(message_of(picture.substr(0, n)).starts_with("jpeg: ")) << n;
  EXPECT_EQ(message_of(whole + "more after the end"), "");
  std::string huge = whole;  // 65,500 x 65,500 pixels out of nothing
  size_t at = huge.find("\xff\xc0") + 5;
  huge.replace(at, 4, "\xff\xdc\xff\xdc");
  EXPECT_TRUE(message_of(huge).starts_with("jpeg: the file ends early")) << message_of(huge);
}

TEST(Goldens, SharedObjectsStayShared) {
  Value v = load_value(kGoldens + "plain4.pkl");
  auto pair = v.as_dict().find(Name("shared"))->items();
  EXPECT_EQ(pair[0].object(), pair[1].object());
}

TEST(Goldens, CompressedArchives) {
  Value v = load_value(kGoldens + "compressed.npz");
  EXPECT_EQ(render(v), "{:w [[0. 0. 0. 0.]\n     [0. 0. 0. 0.]\n     [0. 0. 0. 0.]\n     [0. 0. 0. 0.]]}");
}

TEST(Goldens, ArchivesWeWriteComeBack) {
  Value v = load_value(kGoldens + "stored.npz");
  EXPECT_EQ(write_npz(parse_npz(write_npz(v))), write_npz(v));
  EXPECT_EQ(render(parse_npz(write_npz(v))), render(v));
  EXPECT_THROW(write_npz(Value::string("x")), UserError);
}

// check_with_others.py has PyTorch read such files.
TEST(Goldens, CheckpointsWeWriteComeBack) {
  for (std::string name : {"state", "kinds", "views", "checkpoint", "parameter"}) {
    Value v = load_value(kGoldens + "torch-" + name + ".pt");
    Value again = parse_torch(write_torch(v));
    EXPECT_TRUE(tree_equal(again, v)) << name << ": " << render(again);
  }
  EXPECT_THROW(write_torch(Value::object(Tag::Atom, new AtomObj)), UserError);
  Value deep = Value::list({});
  for (int i = 0; i < 1000; ++i)
    deep = Value::list({deep});
  EXPECT_THROW(write_torch(deep), UserError);
}

TEST(Goldens, StoragesAreAligned) {
  std::string bytes = write_torch(load_value(kGoldens + "torch-state.pt"));
  int storages = 0;
  for (const ZipEntry& e : read_zip(bytes)) {
    if (!e.name.starts_with("archive/data/")) continue;
    EXPECT_EQ((e.data.data() - bytes.data()) % 64, 0) << e.name;
    ++storages;
  }
  EXPECT_GT(storages, 3);
}

}  // namespace
}  // namespace sheaf::formats
