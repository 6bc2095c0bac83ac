"""The Python module as a user meets it. Run by `./x python`; parts that need PyTorch are left out where there is
none."""

import contextlib
import gc
import io
import os
import re
import runpy
import signal
import tempfile
import threading
import time
import unittest
import weakref
from pathlib import Path

import numpy as np
import sheaf

try:
    import torch
except ImportError:
    torch = None

ROOT = Path(__file__).resolve().parents[2]
TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"]
TYPES += ["complex64"]


def pointer(array):
    return array.__array_interface__["data"][0]


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.s = sheaf.Session(tensors="numpy")
        self.s.eval("(defn same [x] x) (defn twice [x] (* x 2)) (defn add-up [x k] (+ x k))")


class Arrays(SessionTest):
    def test_numpy_both_ways_without_copies(self):
        for name in TYPES:
            x = np.arange(6).astype(name).reshape(2, 3)
            y = self.s.same(x)
            self.assertEqual(y.dtype, x.dtype)
            self.assertEqual(pointer(y), pointer(x), name)
            np.testing.assert_array_equal(y, x)

    def test_views_and_read_only_arrays(self):
        x = np.arange(24.0).reshape(4, 6)
        same = self.s.eval("(fn [x] x)")  # a compiled function may straighten what is not contiguous
        for view in (x.T, x[::2], x[:, 1:5:2], x[1], x[2:2]):
            y = same(view)
            if view.size:
                self.assertEqual(pointer(y), pointer(view))
            np.testing.assert_array_equal(y, view)
            np.testing.assert_array_equal(self.s.twice(view), view * 2)
        np.testing.assert_array_equal(self.s.twice(x[::-1, ::-1]), x[::-1, ::-1] * 2)
        x.flags.writeable = False
        self.assertEqual(pointer(same(x)), pointer(x))

    def test_results_are_shown_not_copied(self):
        raw = sheaf.Session()
        t = raw.eval("(def w (ones [3 4])) w")
        self.assertEqual((t.shape, t.dtype, len(t)), ((3, 4), "float32", 3))
        a, b = np.asarray(t), np.from_dlpack(t)
        self.assertEqual(pointer(a), pointer(b))
        self.assertEqual(pointer(a), pointer(np.asarray(raw.eval("w"))))
        self.assertFalse(a.flags.writeable)
        raw.close()
        del t, raw
        gc.collect()
        np.testing.assert_array_equal(a, np.ones((3, 4)))

    def test_memory_is_given_back(self):
        class Array(np.ndarray):
            pass

        x = np.ones(1000).view(Array)
        gone = weakref.ref(x)
        y = self.s.same(x)
        del x
        gc.collect()
        self.assertIsNotNone(gone())
        del y
        gc.collect()
        self.assertIsNone(gone())

    def test_memory_kept_by_the_program(self):
        self.s.eval("(def kept (atom nil)) (defn keep [x] (reset! kept x) nil)")
        x = np.ones(1000).view(type("Array", (np.ndarray,), {}))
        gone = weakref.ref(x)
        self.s.keep(x)
        del x
        self.assertIsNotNone(gone())
        self.s.keep(None)  # dropped on the session's thread
        gc.collect()
        self.assertIsNone(gone())

    def test_unused_capsules_are_freed(self):
        t = sheaf.Session().eval("(ones [2])")
        for _ in range(3):
            t.__dlpack__()

    def test_numbers(self):
        raw = sheaf.Session()
        self.assertEqual(raw.eval("(reshape 2.5 [1 1])").item(), 2.5)
        for dtype in ("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "bool"):
            t = raw.eval(f"(cast [1] :{dtype})")
            self.assertEqual((float(t), int(t), bool(t)), (1.0, 1, True), dtype)
        with self.assertRaises(ValueError):
            float(raw.eval("(ones [2])"))
        self.assertEqual(self.s.add_up(np.int64(3), np.float32(0.5)), 3.5)

    def test_what_has_no_tensor(self):
        with self.assertRaises(ValueError):
            sheaf.Session().eval("1\0 2")
        for x in (
            np.ones(2, "complex128"),
            np.ones(2, ">f4"),
            np.ones(2, "uint64"),
            np.array(["a"]),
            np.ones(2, "i4,f4"),
        ):
            with self.assertRaises((TypeError, sheaf.Error)):
                self.s.same(x)
        with self.assertRaises(TypeError):
            self.s.same(object())


@unittest.skipUnless(torch, "there is no PyTorch")
class Torch(SessionTest):
    def test_both_ways_without_copies(self):
        s = sheaf.Session(tensors="torch")
        same = s.eval("(fn [x] x)")
        types = [t for t in TYPES if hasattr(torch, t) and t not in ("uint16", "uint32")] + ["bfloat16"]
        for name in types:
            x = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
            for given in (x, x.T):
                y = same(given)
                self.assertEqual((y.data_ptr(), y.dtype, y.stride()), (x.data_ptr(), x.dtype, given.stride()))
                self.assertTrue(torch.equal(y, given))

    def test_gradients_agree(self):
        x, w = torch.randn(7, 5, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
        torch.tanh(x @ w).pow(2).sum().backward()
        s = sheaf.Session(tensors="torch")
        s.eval("(defn loss [w x] (sum (** (tanh (@ x w)) 2))) (defn slope [w x] ((grad loss) w x))")
        self.assertTrue(torch.allclose(s.slope(w.detach(), x), w.grad, rtol=1e-10, atol=1e-12))

    def test_tensors_that_need_gradients_are_refused(self):
        with self.assertRaises((BufferError, RuntimeError)):
            self.s.same(torch.ones(2, requires_grad=True))


class Values(SessionTest):
    def test_trees_both_ways(self):
        x = np.ones((2, 2), np.float32)
        tree = {"a": [1, 2.5, None, True, "text", (x, {"b": x})], "c": {}, "d": [], "e": ()}
        back = self.s.same(tree)
        self.assertEqual(pointer(back["a"][5][0]), pointer(x))
        self.assertEqual(pointer(back["a"][5][1]["b"]), pointer(x))
        self.assertEqual(back["a"][:5], tree["a"][:5])
        self.assertIs(type(back["a"][5]), tuple)
        self.assertEqual([back[k] for k in "cde"], [{}, [], ()])

    def test_keywords_and_functions(self):
        k = self.s.eval(":name")
        self.assertIsInstance(k, sheaf.Keyword)
        self.assertEqual(k, "name")
        self.assertTrue(self.s.call("=", k, self.s.eval(":name")))
        f = self.s.eval("(fn [x] (+ x 1))")
        self.assertEqual(f(41), 42)
        self.assertEqual(self.s.call("map", f, [1, 2]), [2, 3])

    def test_the_device_is_chosen_first(self):
        self.assertEqual(sheaf.Session().eval("(ones [2 3])").__dlpack_device__(), (1, 0))
        with self.assertRaisesRegex(sheaf.Error, "the device is chosen once, before the first session"):
            sheaf.use_device("sim")

    def test_limits(self):
        with self.assertRaises(OverflowError):
            self.s.same(1 << 63)
        with self.assertRaises(TypeError):
            self.s.same({1: 2})
        loop = []
        loop.append(loop)
        with self.assertRaises(RecursionError):
            self.s.same(loop)
        self.assertEqual(self.s.same("é\0\U0001f600"), "é\0\U0001f600")


class Names(SessionTest):
    def test_attributes(self):
        self.assertEqual(self.s.add_up(1, 2), 3)
        self.assertEqual(self.s["add-up"](1, k=2), 3)
        self.s.eval("(def learning-rate 0.5)")
        self.assertEqual(self.s.learning_rate, 0.5)
        f = self.s.twice
        self.s.eval("(defn twice [x] (* x 200))")
        self.assertEqual(f(1), 200)
        with self.assertRaises(AttributeError):
            self.s.nobody

    def test_named_arguments(self):
        self.s.eval("(defn line [x & {:keys [slope far-off] :or {slope 1 far-off 0}}] (+ far-off (* slope x)))")
        self.assertEqual(self.s.line(3, slope=2, far_off=1), 7)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.shf"
            path.write_text("(defn from-file [x] (+ x 1))\n7")
            self.assertEqual(self.s.run_file(path), 7)
            self.assertEqual(self.s.from_file(1), 2)


class Errors(SessionTest):
    def test_tell_everything(self):
        self.s.eval("(defn head [x]\n  (@ x (ones [3 4])))")
        with self.assertRaises(sheaf.Error) as caught:
            self.s.head(np.ones((2, 5), np.float32))
        e = caught.exception
        self.assertEqual((e.kind, e.file, e.line, e.column), ("runtime", "<eval>", 2, 3))
        self.assertIn("2 |   (@ x (ones [3 4])))", e.report)
        self.assertEqual(str(e), e.report.rstrip("\n"))

    def test_the_session_goes_on(self):
        for text in ("(", "(nobody)", '(error "no")', "(exit 2)", "nobody"):
            with self.assertRaises(sheaf.Error):
                self.s.eval(text)
        self.assertEqual(self.s.eval("1"), 1)

    def test_closed(self):
        with sheaf.Session() as s:
            f = s.eval("(fn [] 1)")
        with self.assertRaises(ValueError):
            s.eval("1")
        with self.assertRaises(ValueError):
            f()


class Threads(SessionTest):
    def test_other_threads_run_meanwhile(self):
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                time.sleep(0.001)

        t = threading.Thread(target=tick)
        t.start()
        self.s.eval("(loop [i 0] (if (< i 3000000) (recur (+ i 1)) i))")
        done.set()
        t.join()
        self.assertGreater(len(ticks), 3)

    def test_calls_of_one_session_wait_their_turn(self):
        self.s.eval("(def n (atom 0)) (defn count-up [x] (do (reset! n (+ (deref n) 1)) (sum x)))")

        def work():
            for _ in range(50):
                self.s.count_up(np.ones(100, np.float32))

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(self.s.eval("(deref n)"), 200)

    def test_interrupt(self):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            self.s.eval("(loop [i 0] (recur (+ i 1)))")
        self.assertEqual(self.s.eval("1"), 1)


class Documentation(unittest.TestCase):
    def check_page(self, name, least):
        page = (ROOT / "docs" / name).read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
        self.assertGreaterEqual(len(blocks), least)
        expected = re.findall(r"print\(.*\)  # (.*)", "".join(blocks))
        printed = io.StringIO()
        names = {}
        with contextlib.redirect_stdout(printed):
            for block in blocks:
                exec(block, names)
        self.assertEqual(printed.getvalue().splitlines(), expected)

    def test_the_page(self):
        self.check_page("embedding.md", 4)

    def test_the_recipe(self):
        self.check_page("cookbook.md", 1)


class Training(unittest.TestCase):
    def test_the_ten_line_script(self):
        seen = runpy.run_path(str(ROOT / "examples" / "mlp.py"))
        self.assertLess(float(seen["loss"]), 0.2)
        s, x = seen["s"], seen["x"]
        # What the step was given is the memory of the NumPy arrays.
        s.eval("(defn same [tree] tree)")
        back = s.same({"x": x, "params": seen["params"]})
        self.assertEqual(pointer(back["x"]), pointer(x))
        self.assertEqual(pointer(back["params"]["hidden"]["W"]), pointer(seen["params"]["hidden"]["W"]))

    def test_a_big_input_costs_no_memory(self):
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        s = sheaf.Session(tensors="numpy")
        s.eval("(defn first-row [x] (get x 0))")
        x = np.ones((64, 1 << 20), np.float32)  # 256 MB
        before = resident()
        for _ in range(5):
            np.testing.assert_array_equal(s.first_row(x)[:3], [1, 1, 1])
        self.assertLess(resident() - before, 64 << 20)


if __name__ == "__main__":
    unittest.main()
