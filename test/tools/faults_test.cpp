// Saving on a disk that fails: at every operation on files in turn, the disk is full, the folder cannot be written, the
// hardware fails, or the program is killed. Then the old file or the new one is there, complete, and nothing else after
// the next save; an error names the file.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

constexpr const char* kKill = "kill";
const std::string kFaults[] = {kKill, std::to_string(ENOSPC), std::to_string(EACCES), std::to_string(EIO)};

using Contents = std::map<std::string, std::string>;

class Disk {
 public:
  Disk() { fs::create_directory(sandbox_.dir() / "disk"); }
  // The disk's contents, by name.
  Contents contents(const fs::path& at = "disk") const {
    Contents out;
    for (const auto& e : fs::recursive_directory_iterator(sandbox_.dir() / at))
      if (e.is_regular_file())
        out[fs::relative(e.path(), sandbox_.dir()).string()] =
            sandbox_.read(fs::relative(e.path(), sandbox_.dir()).string());
    return out;
  }
  void put(const Contents& files) const {
    fs::remove_all(sandbox_.dir() / "disk");
    fs::create_directory(sandbox_.dir() / "disk");
    for (const auto& [name, bytes] : files) {
      fs::create_directories((sandbox_.dir() / name).parent_path());
      sandbox_.write(name, bytes);
    }
  }
  // Runs program.shf so that the n-th operation on the disk fails as `fault` says; n = 0: none.
  Result run(int n = 0, const std::string& fault = kKill) {
    fs::remove(sandbox_.dir() / "mark");
    std::string real = fs::canonical(sandbox_.dir()).string();
    auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    if (n > 0)
      set("LD_PRELOAD", FAULT_SHIM), set("FAULT_FOLDER", real + "/disk"), set("FAULT_AT", std::to_string(n)),
          set("FAULT", fault), set("FAULT_MARK", real + "/mark");
    const char* options = std::getenv("ASAN_OPTIONS");
    std::string before = options ? options : "";
    set("ASAN_OPTIONS", before + ":verify_asan_link_order=0");
    Result r = sandbox_.run("program.shf");
    set("ASAN_OPTIONS", before);
    ::unsetenv("LD_PRELOAD");
    operation_ = sandbox_.read("mark");
    return r;
  }
  // The operation that failed in the last run; empty if the run ended before.
  const std::string& operation() const { return operation_; }
  void program(const std::string& text) const { sandbox_.write("program.shf", text); }

 private:
  Sandbox sandbox_;
  std::string operation_;
};

// Saves the first value, then the second with every fault.
void check_every_fault(const std::string& path, const std::string& first, const std::string& second) {
  Disk disk;
  auto save = [&](const std::string& value) { disk.program("(io \"save\" \"" + path + "\" " + value + ")"); };
  save(first);
  ASSERT_EQ(disk.run().status, 0);
  Contents before = disk.contents();
  ASSERT_EQ(before.size(), 1u);
  save(second);
  ASSERT_EQ(disk.run().status, 0);
  Contents after = disk.contents();
  ASSERT_NE(before, after);
  for (const std::string& fault : kFaults) {
    std::string operations;
    for (int n = 1;; ++n) {
      disk.put(before);
      Result r = disk.run(n, fault);
      if (disk.operation().empty()) break;
      operations += disk.operation() + " ";
      std::string where = path + ": " + fault + " at " + disk.operation() + ", " + std::to_string(n) + "\n" + r.err;
      Contents now = disk.contents();
      ASSERT_TRUE(now[path] == before[path] || now[path] == after[path]) << where;
      if (fault != kKill) {
        ASSERT_TRUE(r.status == 0 ? now == after : now == before) << where;
        ASSERT_TRUE(r.status == 0 || contains(r.err, "io save '" + path + "': " + std::strerror(std::stoi(fault))))
            << where;
      }
      ASSERT_EQ(disk.run().status, 0) << where;
      ASSERT_EQ(disk.contents(), after) << where;
      ASSERT_LT(n, 100);
    }
    for (std::string known : {"mkostemps ", "fchmod ", "write ", "fsync ", "rename ", "close "})
      EXPECT_TRUE(contains(operations, known)) << operations;
  }
}

TEST(Faults, Safetensors) {
  check_every_fault("disk/a.safetensors", "{:w [1 2 3] :step 1}", "{:w (ones [4 5]) :b [1 2] :step 2}");
}
TEST(Faults, Npz) { check_every_fault("disk/a.npz", "{:w [1 2 3]}", "{:w (ones [4 5]) :b [1 2]}"); }
TEST(Faults, Npy) { check_every_fault("disk/a.npy", "[1 2 3]", "(ones [4 5])"); }
TEST(Faults, Torch) { check_every_fault("disk/a.pt", "{:w [1 2 3]}", "{:w (ones [4 5]) :step 2}"); }
TEST(Faults, Tokens) { check_every_fault("disk/a.bin", "(cast [1 2 3] :u16)", "(cast (ones [4 5]) :u16)"); }
TEST(Faults, Json) { check_every_fault("disk/a.json", "{:w [1 2 3] :step 1}", "{:w '[\"a\" \"b\"] :step 2}"); }

// A folder that does not exist yet: if it cannot be created, the error names the path too.
TEST(Faults, NewFolders) {
  Disk disk;
  disk.program("(io \"save\" \"disk/new/deep/a.json\" 1)");
  for (int n : {1, 2}) {
    disk.put({});
    Result r = disk.run(n, std::to_string(EROFS));
    EXPECT_EQ(disk.operation(), "mkdir");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(contains(r.err, "io save 'disk/new/deep/a.json': Read-only file system")) << r.err;
  }
}

// The newest checkpoint, the old or the new one, survives every fault, also while old ones are removed.
TEST(Faults, Checkpoints) {
  Disk disk;
  auto save = [&](int step) {
    disk.program("(save-checkpoint \"disk/run\" {:step " + std::to_string(step) + " :w (* " + std::to_string(step) +
                 " (ones [8]))} :keep 2)");
  };
  for (int step : {1, 2}) {
    save(step);
    ASSERT_EQ(disk.run().status, 0);
  }
  Contents before = disk.contents();
  save(3);
  ASSERT_EQ(disk.run().status, 0);
  Contents after = disk.contents();
  ASSERT_EQ(after.size(), 2u);
  const std::string old = "disk/run/step-00000002.safetensors", latest = "disk/run/step-00000003.safetensors",
                    first = "disk/run/step-00000001.safetensors";
  for (const std::string& fault : kFaults) {
    bool removal = false;
    for (int n = 1;; ++n) {
      disk.put(before);
      Result r = disk.run(n, fault);
      if (disk.operation().empty()) break;
      removal |= disk.operation() == "remove";
      std::string where = fault + " at " + disk.operation() + ", " + std::to_string(n) + "\n" + r.err;
      Contents now = disk.contents();
      ASSERT_EQ(now[old], before[old]) << where;
      ASSERT_TRUE(!now.contains(latest) || now[latest] == after[latest]) << where;
      ASSERT_TRUE(fault == kKill || r.status == 0 || contains(r.err, disk.operation() == "remove" ? first : latest))
          << where;
      ASSERT_EQ(disk.run().status, 0) << where;
      ASSERT_EQ(disk.contents(), after) << where;
      ASSERT_LT(n, 100);
    }
    EXPECT_TRUE(removal);
  }
}

// A training run that is killed repeatedly at some operation of a save ends with the bits of an uninterrupted one.
TEST(Faults, KilledTraining) {
  Disk disk;
  disk.program(
      "(def opt (adam {:lr 0.01}))\n"
      "(defn step [state i]\n"
      "  (let [w (get state :w)\n"
      "        [l g] ((value-and-grad (fn [w] (sum (** (- w (random-normal (random-fold-in (random-key 5) i) [4])) "
      "2)))) w)\n"
      "        [w s] ((get opt :step) w g (get state :s))]\n"
      "    (merge state {:w w :s s :loss l})))\n"
      "(training-loop {:w (zeros [4]) :s ((get opt :init) (zeros [4])) :loss 0.0} step {:steps 120 :path \"disk/run\" "
      ":every 3 :lines 0})\n");
  ASSERT_EQ(disk.run().status, 0);
  Contents whole = disk.contents();
  ASSERT_EQ(whole.size(), 3u);
  uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  disk.put({});
  int killed = 0;
  for (;; ++killed) {
    ASSERT_LT(killed, 1000);
    Result r = disk.run(std::uniform_int_distribution<int>(1, 90)(random));
    if (disk.operation().empty()) {
      ASSERT_EQ(r.status, 0) << r.err;
      break;
    }
  }
  EXPECT_GT(killed, 0) << "seed " << seed;
  EXPECT_TRUE(disk.contents() == whole) << killed << " kills, seed " << seed;
}

}  // namespace
}  // namespace sheaf::tools
