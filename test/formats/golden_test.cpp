// Files made by other programs (make_goldens.py), each compared with the JSON of what it must load as.
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/csv.h"
#include "formats/files.h"
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
      Value got = load_value(path, objects ? Objects::Skip : Objects::Refuse), want = parse_json(read_file(expected));
      EXPECT_TRUE(tree_equal(got, want)) << render(got) << "\nexpected\n" << render(want);
    } catch (const UserError& e) {
      ADD_FAILURE() << e.message;
    }
    ++count;
  }
  EXPECT_GE(count, 69);
}

// What we write is what we read: the readers were checked against other programs above.
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
