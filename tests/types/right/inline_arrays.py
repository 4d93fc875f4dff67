from weft import Float32, InlineArray, Int, Int32, Pointer, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@struct
class Cell:
    weights: InlineArray[Float32, 4]
    hits: Int32

    def best(self) -> Int:
        at = Int(0)
        for k in range(4):
            if self.weights[k] > self.weights[at]:
                at = k
        return at


@func
def median(a: Float32, b: Float32, c: Float32) -> Float32:
    v = InlineArray[Float32, 3](a, b, c)
    for end in (2, 1):
        for i in range(end):
            if v[i] > v[i + 1]:
                v[i], v[i + 1] = v[i + 1], v[i]
    return v[1]


@kernel
def update(cells: Pointer[Cell], n: Int):
    i = global_idx.x
    if i < n:
        cells[i].weights[1] += 2.0
        total = sum(cells[i].weights)
        cells[i].weights[0] = total / len(cells[i].weights)
        cells[i].hits += Int32(cells[i].best())


ctx = DeviceContext(api="cpu")
cells = ctx.enqueue_create_buffer(Cell, 3)
with cells.map_to_host() as host:
    host[0] = Cell(InlineArray[Float32, 4](1.0, 2.0, 3.0, 4.0), 0)
    host[1] = Cell([1.0, 2.0, 3.0, 4.0], 0)
    host[2] = Cell(InlineArray[Float32, 4](fill=1.0), 0)
ctx.enqueue_function(update, cells, 3, over=3)
assert median(3.0, 1.0, 2.0) == 2.0
with cells.map_to_host() as host:
    assert host.numpy()["weights"][:, 1].tolist() == [4.0, 4.0, 3.0]
