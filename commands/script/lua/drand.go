package lua

import (
	"math"

	glua "github.com/yuin/gopher-lua"
)

// drand is the generator of math.random: the linear congruence of drand48, with the same
// numbers as in Redis. Scripts share it.
type drand uint64

// drandStart is the state until a script calls randomseed.
const drandStart drand = 0x1234abcd330e

// seed begins the sequence of a number.
func (d *drand) seed(n int32) { *d = drand(uint64(uint32(n))<<16 | 0x330e) }

// next returns the next number, from 0 to 2^31-1.
func (d *drand) next() int32 {
	*d = (*d*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*d >> 17)
}

// openRandom replaces the random functions of the math library.
func openRandom(s *state, e *Engine) {
	math, ok := s.G.Global.RawGetString("math").(*glua.LTable)
	if !ok {
		return
	}
	math.RawSetString("random", s.NewFunction(e.random))
	math.RawSetString("randomseed", s.NewFunction(e.randomSeed))
}

func (e *Engine) random(L *glua.LState) int {
	if e.current.Load() == nil {
		L.RaiseError("math.random can only be called inside a script invocation")
	}
	r := float64(e.drand.next()%math.MaxInt32) / math.MaxInt32
	switch L.GetTop() {
	case 0:
		L.Push(glua.LNumber(r))
	case 1:
		upper := L.CheckInt(1)
		if upper < 1 {
			L.ArgError(1, "interval is empty")
		}
		L.Push(glua.LNumber(math.Floor(r*float64(upper)) + 1))
	case 2:
		lower, upper := L.CheckInt(1), L.CheckInt(2)
		if lower > upper {
			L.ArgError(2, "interval is empty")
		}
		L.Push(glua.LNumber(math.Floor(r*float64(upper-lower+1)) + float64(lower)))
	default:
		L.RaiseError("wrong number of arguments")
	}
	return 1
}

func (e *Engine) randomSeed(L *glua.LState) int {
	if e.current.Load() == nil {
		L.RaiseError("math.randomseed can only be called inside a script invocation")
	}
	e.drand.seed(int32(L.CheckInt64(1)))
	return 0
}
