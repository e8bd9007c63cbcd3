package lualib

import (
	"regexp"
	"testing"
)

// fuzzed runs one call with a budget: an error is a reply as others, a panic is not.
func fuzzed(t *testing.T, call string) string {
	t.Helper()
	return runIn(t, &budget{1 << 22, 1 << 26}, call)
}

// FuzzJSONDecode decodes anything. What could be decoded and encoded again decodes to the
// same.
func FuzzJSONDecode(f *testing.F) {
	for _, s := range []string{`[1,{"a":null},"\u00e9"]`, `{"a":[[]]}`, `1e400`, "\"\x00\"", `[1,`, `"\ud800\udc00"`, `nan`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := fuzzed(t, "local v = cjson.decode("+quoteLua(s)+") local ok, a = pcall(cjson.encode, v) "+
			"if not ok then return 'ok' end local b = cjson.encode(cjson.decode(a)) return a == b and 'ok' or a .. ' ' .. b")
		if !expected.MatchString(got) {
			t.Errorf("%q: %s", s, got)
		}
	})
}

// FuzzMsgpackUnpack unpacks anything.
func FuzzMsgpackUnpack(f *testing.F) {
	for _, s := range []string{"\x93\x01\xa1a\xc0", "\xdd\xff\xff\xff\xff", "\x81\xa1a\x01", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := fuzzed(t, "local t = {cmsgpack.unpack("+quoteLua(s)+")} cmsgpack.pack(t) return 'ok'")
		if !expected.MatchString(got) {
			t.Errorf("%q: %s", s, got)
		}
	})
}

// FuzzStruct unpacks anything with any format, and packs with it what came of that.
func FuzzStruct(f *testing.F) {
	f.Add("<!4bHi3sc0", "abcdefghij")
	f.Add("c2147483647", "")
	f.Fuzz(func(t *testing.T, format, data string) {
		q := quoteLua(format)
		got := fuzzed(t, "local t = {struct.unpack("+q+", "+quoteLua(data)+")} pcall(struct.size, "+q+") struct.pack("+q+", unpack(t)) return 'ok'")
		if !expected.MatchString(got) {
			t.Errorf("%q %q: %s", format, data, got)
		}
	})
}

// FuzzPattern matches anything with any pattern. What find finds gsub replaces, and gsub
// leaves the text as it is if each match stands for itself. A NUL ends a pattern, but not
// a text that find looks for as it is.
func FuzzPattern(f *testing.F) {
	f.Add("hello world", "(%w+) %f[%w]()")
	f.Add("((a))", "^%b()[^%]a-]*-?$")
	f.Fuzz(func(t *testing.T, s, p string) {
		got := fuzzed(t, "local s, p = "+quoteLua(s)+", "+quoteLua(cString(p))+` local i, j = string.find(s, p)
			string.match(s, p) for a in string.gmatch(s, p) do end
			local same, n = string.gsub(s, p, '%0')
			if same ~= s then return 'gsub changes the text' end
			return (n > 0) == (i ~= nil) and 'ok' or 'find does not find what gsub replaces'`)
		if !expected.MatchString(got) {
			t.Errorf("%q %q: %s", s, p, got)
		}
	})
}

// FuzzCompile compiles anything.
func FuzzCompile(f *testing.F) {
	f.Add("return 1 .. f(-2)^3")
	f.Add("--[==[ ]] ]==] local function f(...) if x then elseif y then else end end")
	f.Fuzz(func(t *testing.T, source string) {
		proto, err := Compile(source, "user_script", &budget{1 << 22, 1 << 26})
		if (proto == nil) == (err == nil) {
			t.Errorf("%q: %v %v", source, proto, err)
		}
	})
}

// expected are the replies that a fuzzed call may have: its own, an error of the libraries,
// with its place, or of the budget.
var expected = regexp.MustCompile(`^ok$|^user_script:\d+: (Expected|Cannot|Found|JSON|Missing|Bad data|Too many|bad argument|over budget|malformed|missing|invalid|unbalanced|unfinished|too many|pattern too|integral|alignment|format 'c0'|stack overflow)|^table index is`)
