package lualib

import (
	"errors"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// A budget is a meter that allows so many steps and bytes, and then fails for good.
type budget struct{ steps, bytes int }

var errBudget = errors.New("over budget")

func (b *budget) Step(n int) error { return spend(&b.steps, n) }

func (b *budget) Take(n int) error { return spend(&b.bytes, n) }

func spend(left *int, n int) error {
	if *left < 0 || n < 0 || n > *left {
		*left = -1
		return errBudget
	}
	*left -= n
	return nil
}

// run runs a script with a generous budget and returns its first result, or its error, as
// text.
func run(t *testing.T, source string) string {
	t.Helper()
	return runIn(t, &budget{1 << 30, 1 << 30}, source)
}

func newState(m Meter) *lua.LState {
	L := lua.NewState(lua.Options{
		SkipOpenLibs: true, MinimizeStackMemory: true, CallStackSize: 16000,
		RegistrySize: 4 << 10, RegistryMaxSize: 256 << 10, RegistryGrowStep: 4 << 10,
	})
	Open(L, m, NewWorld(processorTime))
	return L
}

func runIn(t *testing.T, m Meter, source string) string {
	t.Helper()
	L := newState(m)
	defer L.Close()
	proto, err := Compile(source, "user_script", m)
	if err != nil {
		return err.Error()
	}
	L.Push(Function(L, proto))
	if err := L.PCall(0, 1, nil); err != nil {
		var api *lua.ApiError
		if !errors.As(err, &api) {
			t.Fatal(err)
		}
		return api.Object.String()
	}
	text, ok := toText(L.Get(-1))
	if !ok {
		return L.Get(-1).String()
	}
	return text
}

func TestClockIsTheProcessorTime(t *testing.T) {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer L.Close()
	Open(L, &budget{1 << 30, 1 << 30}, NewWorld(func() time.Duration { return 1500 * time.Millisecond }))
	if err := L.DoString("if os.clock() ~= 1.5 then error(os.clock()) end"); err != nil {
		t.Error(err)
	}
}

// The numbers of math.random go on in the next state of an engine.
func TestStatesOfAWorldShareTheirChance(t *testing.T) {
	w := NewWorld(processorTime)
	draw := func(source string) string {
		L := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer L.Close()
		Open(L, &budget{1 << 30, 1 << 30}, w)
		if err := L.DoString(source); err != nil {
			t.Fatal(err)
		}
		return L.Get(-1).String()
	}
	both := draw("math.randomseed(5) return math.random(1000000) .. ' ' .. math.random(1000000)")
	one, other := draw("math.randomseed(5) return math.random(1000000)"), draw("return math.random(1000000)")
	if one+" "+other != both {
		t.Errorf("got %s and %s, want %s", one, other, both)
	}
}

func TestBit(t *testing.T) {
	for script, want := range map[string]string{
		"return bit.band(0xFFFFFFFF, 0xF0F0F0F0)": "-252645136",
		"return bit.tobit(0xffffffff)":            "-1",
		"return bit.tobit(2^32 + 5)":              "5",
		"return bit.tobit(1.5)":                   "2",
		"return bit.bnot(0)":                      "-1",
		"return bit.bswap(0x12345678)":            "2018915346",
		"return bit.tohex(255)":                   "000000ff",
		"return bit.tohex(255, -4)":               "00FF",
		"return bit.tohex(255, -2147483648)":      "000000FF",
		"return bit.lshift(1, 33)":                "2",
		"return bit.rshift(-1, 28)":               "15",
		"return bit.arshift(-16, 2)":              "-4",
		"return bit.rol(0x80000001, 1)":           "3",
		"return bit.ror(3, 1)":                    "-2147483647",
		"return bit.bxor('0x10', 1, 2)":           "19",
		"return bit.band({})":                     "user_script:1: bad argument #1 to 'band' (number expected, got table)",
		"return bit.bor()":                        "user_script:1: bad argument #1 to 'bor' (number expected, got no value)",
	} {
		if got := run(t, script); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}
