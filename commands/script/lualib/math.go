package lualib

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func mathLibrary() library {
	lib := library{
		"atan2": math2(math.Atan2), "pow": math2(math.Pow), "fmod": math2(fmod), "mod": math2(fmod),
		"frexp": mathFrexp, "ldexp": mathLdexp, "modf": mathModf,
		"max":    mathFold(func(d, best float64) bool { return d > best }),
		"min":    mathFold(func(d, best float64) bool { return d < best }),
		"random": mathRandom, "randomseed": mathRandomSeed,
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan,
		"ceil": math.Ceil, "cos": math.Cos, "cosh": math.Cosh, "exp": math.Exp,
		"floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin,
		"sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(f float64) float64 { return f / (math.Pi / 180) },
		"rad": func(f float64) float64 { return f * (math.Pi / 180) },
	} {
		lib[name] = func(c call) int { return c.pushNumber(f(c.number(1))) }
	}
	return lib
}

func (h *host) openMath(L *lua.LState) {
	t := h.newLibrary(L, mathLibrary())
	t.RawSetString("pi", lua.LNumber(math.Pi))
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	L.SetGlobal("math", t)
}

func math2(f func(a, b float64) float64) function {
	return func(c call) int { return c.pushNumber(f(c.number(1), c.number(2))) }
}

func mathFold(better func(d, best float64) bool) function {
	return func(c call) int {
		best := c.number(1)
		for i := 2; i <= c.L.GetTop(); i++ {
			if d := c.number(i); better(d, best) {
				best = d
			}
		}
		return c.pushNumber(best)
	}
}

// fmod is C's, whose NaN that comes of numbers is negative on amd64.
func fmod(a, b float64) float64 {
	if !math.IsNaN(a) && !math.IsNaN(b) && (b == 0 || math.IsInf(a, 0)) {
		return math.Copysign(math.NaN(), -1)
	}
	return math.Mod(a, b)
}

func mathFrexp(c call) int {
	f, e := math.Frexp(c.number(1))
	return c.push(lua.LNumber(f), lua.LNumber(e))
}

func mathLdexp(c call) int {
	return c.pushNumber(math.Ldexp(c.number(1), c.int32(2)))
}

func mathModf(c call) int {
	f := c.number(1)
	whole, fraction := math.Modf(f)
	if math.IsInf(f, 0) {
		whole, fraction = f, math.Copysign(0, f)
	}
	return c.push(lua.LNumber(whole), lua.LNumber(fraction))
}

// A generator is drand48's, as Redis has it: the same numbers after the same seed on every
// machine.
type generator struct{ x uint64 }

// firstSeed is the seed of a new engine.
const firstSeed = 0x1234ABCD

func (g *generator) seed(n int32) { g.x = uint64(uint32(n))<<16 | 0x330E }

func (g *generator) next() int32 {
	g.x = (g.x*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(g.x >> 17)
}

func mathRandom(c call) int {
	r := float64(c.h.world.random.next()%math.MaxInt32) / math.MaxInt32
	switch c.L.GetTop() {
	case 0:
		return c.pushNumber(r)
	case 1:
		u := c.int32(1)
		if u < 1 {
			c.argError(1, "interval is empty")
		}
		return c.pushNumber(math.Floor(r*float64(u)) + 1)
	case 2:
		l, u := c.int32(1), c.int32(2)
		if l > u {
			c.argError(2, "interval is empty")
		}
		return c.pushNumber(math.Floor(r*float64(int32(u-l+1))) + float64(l))
	}
	c.raise("wrong number of arguments")
	return 0
}

func mathRandomSeed(c call) int {
	c.h.world.random.seed(int32(c.int32(1)))
	return 0
}
