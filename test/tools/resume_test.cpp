// Training runs that are restarted after damage to their files: the newest checkpoint is truncated or has a flipped
// bit, the log ends in the middle of a line, the options have changed. One message says what is wrong, nothing is lost,
// and the run ends with the bits of an undisturbed one.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

constexpr const char* kTraining =
    "(def opts (options {:lr 0.1 :steps 30 :path \"run\" :fresh false :log \"log.jsonl\" :note \"x\"}))\n"
    "(def opt (adam {:lr (:lr opts)}))\n"
    "(defn step [state i] (descend opt (fn [p] (sum (** (- (:w p) (* 0.1 i)) 2))) state))\n"
    "(def start {:w (zeros [4])})\n"
    "(training-loop {:params start :opt ((:init opt) start) :loss 0.0} step\n"
    "  (merge (select-keys opts '[:steps :path :fresh :log])\n"
    "         {:every 10 :keep 2 :lines 0 :log-every 4 :show (fn [s] {:loss (:loss s)})}))\n";

using Contents = std::map<std::string, std::string>;

class Training {
 public:
  Training() { sandbox_.write("a.shf", kTraining); }
  // Runs with additional options.
  Result run(const std::string& options = "") const { return sandbox_.run("a.shf -- " + options); }
  Contents contents() const {
    Contents out;
    for (const auto& e : fs::recursive_directory_iterator(sandbox_.dir())) {
      std::string name = fs::relative(e.path(), sandbox_.dir()).string();
      if (e.is_regular_file() && (name.starts_with("run/") || name.starts_with("log."))) out[name] = read(name);
    }
    return out;
  }
  std::string read(const std::string& name) const { return sandbox_.read(name); }
  void write(const std::string& name, const std::string& bytes) const { sandbox_.write(name, bytes); }
  fs::path path(const std::string& name) const { return sandbox_.dir() / name; }
  Result run_other(const std::string& program) const { return sandbox_.run(program); }

 private:
  Sandbox sandbox_;
};

const std::string kFirst = "run/step-00000020.safetensors", kNewest = "run/step-00000030.safetensors";

int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

// With the newest checkpoint replaced, a run goes back to the one before and comes to the same end.
void expect_goes_back(const Training& t, const Contents& whole, const std::string& damaged, const std::string& why) {
  t.write(kNewest, damaged);
  Result r = t.run();
  EXPECT_EQ(r.status, 0) << why << r.err;
  std::string said = "warning: " + kNewest + " is damaged: " + why;
  EXPECT_TRUE(r.err.starts_with(said)) << r.err << "expected: " << said;
  EXPECT_TRUE(contains(r.err, " (kept as " + kNewest + ".damaged); going back to " + kFirst + "\n")) << r.err;
  EXPECT_TRUE(contains(r.err, "\ncontinuing from step 20 of " + kFirst + "\n")) << r.err;
  EXPECT_TRUE(contains(r.err, "log.jsonl: cut back to step 20: removed 2 later entries\n")) << r.err;
  EXPECT_EQ(count_of(r.err, "is damaged"), 1) << r.err;
  Contents now = t.contents();
  EXPECT_EQ(now[kNewest + ".damaged"], damaged);
  now.erase(kNewest + ".damaged");
  EXPECT_TRUE(now == whole) << why;
  fs::remove(t.path(kNewest + ".damaged"));
}

TEST(Resume, GoesBackToAWholeCheckpoint) {
  Training t;
  Result r = t.run();
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  Contents whole = t.contents();
  ASSERT_EQ(whole.size(), 3u);
  const std::string bytes = whole[kNewest];
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  expect_goes_back(t, whole, "", "the file is empty");
  expect_goes_back(t, whole, bytes.substr(0, 5), "the file ends early: ");
  expect_goes_back(t, whole, bytes.substr(0, 8 + header / 2), "the file ends early: ");
  expect_goes_back(t, whole, bytes.substr(0, 8 + header), "the file ends early: ");
  expect_goes_back(t, whole, bytes.substr(0, bytes.size() - 1), "the file ends early: ");
  auto flipped = [&](size_t at) {
    std::string out = bytes;
    out[at] ^= 4;
    return out;
  };
  // In the header, in a shape for example; and in every tensor.
  expect_goes_back(t, whole, flipped(bytes.find("\"shape\":[4]") + 9), "the header has the checksum ");
  for (std::string name : {"params.w", "opt.m.w", "opt.v.w", "opt.step", "loss", "step"}) {
    size_t entry = bytes.find("\"" + name + "\":{\"dtype\"");
    ASSERT_NE(entry, std::string::npos) << name;
    size_t offset = std::strtoul(bytes.c_str() + bytes.find("data_offsets\":[", entry) + 15, nullptr, 10);
    expect_goes_back(t, whole, flipped(8 + header + offset), "tensor '" + name + "' has the checksum ");
  }
}

TEST(Resume, DoesNotBeginAnewWhenAllIsDamaged) {
  Training t;
  ASSERT_EQ(t.run().status, 0);
  for (const std::string& file : {kFirst, kNewest})
    t.write(file, t.read(file).substr(0, 100));
  Contents before = t.contents();
  Result r = t.run();
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, kNewest + ": the file ends early: ")) << r.err;
  EXPECT_TRUE(contains(r.err, "run has no checkpoint that is whole")) << r.err;
  EXPECT_TRUE(t.contents() == before);
  EXPECT_EQ(t.run("--fresh").status, 0);
}

// Both are named, and the oldest one is enough.
TEST(Resume, GoesBackOverSeveral) {
  Training t;
  ASSERT_EQ(t.run("--steps 20").status, 0);
  std::string newer = t.read(kFirst);
  ASSERT_EQ(t.run("--steps 20 --fresh").status, 0);
  Contents whole = t.contents();
  t.write(kFirst, newer.substr(0, 50));
  t.write(kNewest, "");
  Result r = t.run("--steps 20");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(contains(r.err, "warning: " + kNewest + " is damaged: the file is empty (kept as " + kNewest +
                                  ".damaged); " + kFirst + " is damaged: the file ends early: "))
      << r.err;
  EXPECT_TRUE(contains(r.err, "going back to run/step-00000010.safetensors\n")) << r.err;
  Contents now = t.contents();
  EXPECT_EQ(now[kFirst], whole[kFirst]);
  EXPECT_EQ(now["log.jsonl"], whole["log.jsonl"]);
}

TEST(Resume, CutsTheLog) {
  Training t;
  ASSERT_EQ(t.run().status, 0);
  Contents whole = t.contents();
  ASSERT_EQ(t.run("--steps 20 --fresh").status, 0);
  std::string first = t.read("log.jsonl");
  EXPECT_TRUE(whole["log.jsonl"].starts_with(first));
  for (const auto& [more, said] : {std::pair("{\"step\":24,\"lo", "removed a torn entry"),
                                   std::pair("{\"step\":24,\"loss\":1}\n{\"step\":28,\"loss\":1}\n{\"st",
                                             "removed 2 later entries and a torn one")}) {
    ASSERT_EQ(t.run("--steps 20 --fresh").status, 0);
    t.write("log.jsonl", first + more);
    Result r = t.run();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(contains(r.err, std::string("log.jsonl: cut back to step 20: ") + said + "\n")) << r.err;
    EXPECT_EQ(t.read("log.jsonl"), whole["log.jsonl"]);
  }
}

TEST(Resume, CutsTheEventsOfTensorBoard) {
  Training t;
  ASSERT_EQ(t.run("--log board").status, 0);
  t.write(kNewest, "");
  Result r = t.run("--log board");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(contains(r.err, "board: cut back to step 20: removed 2 later entries\n")) << r.err;
}

TEST(Resume, TellsOptionsThatChanged) {
  Training t;
  Result r = t.run("--steps 10");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(t.run("--steps 10").err, "finished at step 10 of run/step-00000010.safetensors\n");
  r = t.run("--steps 15 --lr 0.5");
  EXPECT_EQ(r.err,
            "continuing from step 10 of run/step-00000010.safetensors, options changed: --lr 0.1 → 0.5, --steps "
            "10 → 15\n");
  r = t.run("--lr 0.5 --note ''");
  EXPECT_TRUE(contains(
      r.err, "from step 15 of run/step-00000015.safetensors, options changed: --note x → \"\", --steps 15 → 30\n"))
      << r.err;
  // A checkpoint of an older version holds no options.
  t.write("old.shf", "(io \"save\" \"run/step-00000040.safetensors\" (assoc (load-checkpoint \"run\") :step 40))");
  ASSERT_EQ(t.run_other("old.shf").status, 0);
  EXPECT_EQ(t.run("--steps 50").err, "continuing from step 40 of run/step-00000040.safetensors\n");
}

}  // namespace
}  // namespace sheaf::tools
