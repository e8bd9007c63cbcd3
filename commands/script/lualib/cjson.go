package lualib

import (
	"fmt"
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// null is cjson.null: C's lightuserdata of a NULL pointer: there is only one.
var null = &lua.LUserData{Metatable: lua.LNil}

// A jsonConfig is the settings of cjson, or of a copy that cjson.new made.
type jsonConfig struct {
	sparseConvert   bool
	sparseRatio     int
	sparseSafe      int
	encodeDepth     int
	decodeDepth     int
	encodeInvalid   int // an index of invalidNumbers
	decodeInvalid   bool
	encodePrecision int
	keepBuffer      bool
	markLists       bool // lists that are decoded are known as such when they are encoded
}

// listMark is the field of the metatable of a list that was decoded.
var listMark = &lua.LUserData{Metatable: lua.LNil}

// listMeta returns a metatable for lists. Scripts share none.
func listMeta(L *lua.LState) *lua.LTable {
	t := L.CreateTable(0, 1)
	t.RawSet(listMark, lua.LTrue)
	return t
}

// isList reports whether a table was decoded from a list.
func isList(t *lua.LTable) bool {
	meta, ok := t.Metatable.(*lua.LTable)
	return ok && meta.RawGet(listMark) == lua.LTrue
}

// invalidNumbers are what encoding does with infinities and NaN.
var invalidNumbers = []string{"off", "on", "null"}

func (cfg *jsonConfig) reset() {
	*cfg = jsonConfig{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000,
		decodeInvalid: true, encodePrecision: 14, keepBuffer: true,
	}
}

// newJSON returns a table with cjson's functions and settings of its own.
func (h *host) newJSON(L *lua.LState, cfg *jsonConfig) *lua.LTable {
	cfg.reset()
	t := h.newLibrary(L, library{
		"encode":                  func(c call) int { return jsonEncode(c, cfg) },
		"decode":                  func(c call) int { return jsonDecode(c, cfg) },
		"encode_sparse_array":     cfg.setSparse,
		"encode_max_depth":        jsonInteger(&cfg.encodeDepth, 1, maxInt32),
		"decode_max_depth":        jsonInteger(&cfg.decodeDepth, 1, maxInt32),
		"encode_number_precision": jsonInteger(&cfg.encodePrecision, 1, 14),
		"encode_keep_buffer":      jsonSwitch(&cfg.keepBuffer),
		"encode_invalid_numbers":  cfg.setEncodeInvalid,
		"decode_invalid_numbers":  jsonSwitch(&cfg.decodeInvalid),
		// Without it a list without elements is encoded as an object.
		"decode_array_with_array_mt": jsonSwitch(&cfg.markLists),
		"new": func(c call) int {
			return c.push(c.h.newJSON(c.L, new(jsonConfig)))
		},
	})
	t.RawSetString("null", null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	return t
}

// atMost raises an error if there are more arguments.
func (c call) atMost(n int) {
	if c.L.GetTop() > n {
		c.argError(n+1, "found too many arguments")
	}
}

func jsonInteger(setting *int, least, most int) function {
	return func(c call) int {
		c.atMost(1)
		return c.integerOption(1, setting, least, most)
	}
}

// integerOption sets a setting to argument n, unless that is nil, and pushes the setting.
func (c call) integerOption(n int, setting *int, least, most int) int {
	if !c.nothing(n) {
		v := c.int32(n)
		if v < least || v > most {
			c.argError(1, fmt.Sprintf("expected integer between %d and %d", least, most))
		}
		*setting = v
	}
	return c.pushNumber(float64(*setting))
}

func jsonSwitch(setting *bool) function {
	return func(c call) int {
		c.atMost(1)
		return c.switchOption(1, setting)
	}
}

func (c call) switchOption(n int, setting *bool) int {
	if !c.nothing(n) {
		if b, ok := c.L.Get(n).(lua.LBool); ok {
			*setting = bool(b)
		} else {
			*setting = c.option(n, invalidNumbers[:2]) == 1
		}
	}
	return c.push(lua.LBool(*setting))
}

// option returns which of some words argument n is.
func (c call) option(n int, words []string) int {
	word := cString(c.text(n))
	i := slices.Index(words, word)
	if i < 0 {
		c.argError(n, fmt.Sprintf("invalid option '%s'", word))
	}
	return i
}

func (cfg *jsonConfig) setSparse(c call) int {
	c.atMost(3)
	c.L.SetTop(3)
	return c.switchOption(1, &cfg.sparseConvert) +
		c.integerOption(2, &cfg.sparseRatio, 0, maxInt32) +
		c.integerOption(3, &cfg.sparseSafe, 0, maxInt32)
}

func (cfg *jsonConfig) setEncodeInvalid(c call) int {
	c.atMost(1)
	if b, ok := c.L.Get(1).(lua.LBool); ok {
		cfg.encodeInvalid = 0
		if b {
			cfg.encodeInvalid = 1
		}
	} else if !c.nothing(1) {
		cfg.encodeInvalid = c.option(1, invalidNumbers)
	}
	if cfg.encodeInvalid == 2 {
		return c.pushText("null")
	}
	return c.push(lua.LBool(cfg.encodeInvalid == 1))
}

// toInt32 converts as C does on amd64, where what does not fit becomes the least integer.
func toInt32(f float64) int32 {
	if f > math.MinInt32-1 && f < math.MaxInt32+1 {
		return int32(f)
	}
	return math.MinInt32
}
