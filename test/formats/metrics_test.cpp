#include "formats/metrics.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "formats/files.h"

namespace sheaf::formats {
namespace {

TEST(Metrics, Checksums) {
  // The check value of the algorithm, and examples of RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Metrics, Events) {
  EXPECT_EQ(version_event(0), std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2");
  std::string value = std::string("\x0a\x01") + "x" + std::string("\x15\0\0\0\x3f", 5);  // tag "x", 0.5
  std::string summary = std::string("\x0a\x08") + value;
  EXPECT_EQ(scalar_event(0, 300, {{"x", 0.5}}), std::string("\x09\0\0\0\0\0\0\0\0\x10\xac\x02\x2a\x0a", 14) + summary);
  EXPECT_EQ(event_record("abc").size(), 3u + 16);
}

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "sheaf-metrics-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

TEST(Metrics, LinesAreCutBack) {
  Folder f;
  std::string log = f / "log.jsonl";
  EXPECT_EQ(cut_metrics(log, 5), "");
  for (int step : {2, 4, 6})
    append_metrics(log, step, {{"loss", 0.5}});
  EXPECT_EQ(cut_metrics(log, 6), "");
  EXPECT_EQ(cut_metrics(log, 4), log + ": cut back to step 4: removed 1 later entry");
  std::string whole = read_file(log);
  EXPECT_EQ(whole, "{\"step\":2,\"loss\":0.5}\n{\"step\":4,\"loss\":0.5}\n");
  for (const std::string& torn :
       {std::string("{"), std::string("{\"step\":3,\"lo"), std::string("{\"step\":1"), std::string(10, '\0')}) {
    write_file(log, whole + torn);
    EXPECT_EQ(cut_metrics(log, 4), log + ": cut back to step 4: removed a torn entry");
    EXPECT_EQ(read_file(log), whole);
  }
  // Existing content of others stays, and the next record begins on a new line.
  write_file(log, "note\n{\"epoch\":9}\n{\"step\":7,\"loss\":1}\n{\"step\":3,\"loss\":1}");
  EXPECT_EQ(cut_metrics(log, 5), log + ": cut back to step 5: removed 1 later entry");
  EXPECT_EQ(read_file(log), "note\n{\"epoch\":9}\n{\"step\":3,\"loss\":1}\n");
}

TEST(Metrics, EventsAreCutBack) {
  Folder f;
  std::string board = f / "board";
  EXPECT_EQ(cut_metrics(board, 5), "");
  for (int step : {2, 4, 300})
    append_metrics(board, step, {{"loss", 0.5}});
  std::string file = fs::directory_iterator(board)->path().string();
  std::string whole = read_file(file);
  const std::string record = event_record(scalar_event(0, 300, {{"loss", 0.5}}));
  std::string cut = whole.substr(0, whole.size() - record.size());
  EXPECT_EQ(cut_metrics(board, 300), "");
  EXPECT_EQ(cut_metrics(board, 299), board + ": cut back to step 299: removed 1 later entry");
  EXPECT_EQ(read_file(file), cut);
  for (size_t n = 1; n < record.size(); ++n) {
    write_file(file, cut + record.substr(0, n));
    EXPECT_EQ(cut_metrics(board, 300), board + ": cut back to step 300: removed a torn entry");
    EXPECT_EQ(read_file(file), cut);
  }
  // A record with a flipped bit in the middle is removed, later ones stay.
  std::string flipped = record;
  flipped[20] ^= 1;
  write_file(file, cut + flipped + record);
  EXPECT_EQ(cut_metrics(board, 300), board + ": cut back to step 300: removed a torn entry");
  EXPECT_EQ(read_file(file), cut + record);
  append_metrics(board, 6, {{"loss", 0.5}});
  EXPECT_GT(read_file(file).size(), cut.size());
}

// A training that begins anew leaves the log of the one before under another name.
TEST(Metrics, LogsAreSetAside) {
  Folder f;
  std::string log = f / "log.jsonl";
  EXPECT_EQ(begin_metrics(log), "");
  append_metrics(log, 0, {{"loss", 1.0}});
  EXPECT_EQ(begin_metrics(log), "");
  for (const char* name : {".old", ".old-2"}) {
    append_metrics(log, 5, {{"loss", 0.5}});
    std::string text = read_file(log);
    EXPECT_EQ(begin_metrics(log), log + " has the log of another training: kept as " + log + name);
    EXPECT_FALSE(fs::exists(log));
    EXPECT_EQ(read_file(log + name), text);
  }
  std::string board = f / "board";
  append_metrics(board, 5, {{"loss", 0.5}});
  EXPECT_NE(begin_metrics(board), "");
  EXPECT_TRUE(fs::directory_iterator(board)->path().filename().string().starts_with("events.out.old."));
  append_metrics(board, 5, {{"loss", 0.5}});
  EXPECT_EQ(std::distance(fs::directory_iterator(board), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace sheaf::formats
