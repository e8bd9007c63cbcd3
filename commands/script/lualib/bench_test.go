package lualib

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// BenchmarkLibraries runs a line of Lua a hundred times in a loop of Lua.
func BenchmarkLibraries(b *testing.B) {
	session := `{"id":"5f3c","user":{"name":"Ada","roles":["admin","dev"]},"seen":1700000000,"cart":[1,2,3,4.5,null,true]}`
	for name, line := range map[string]string{
		"cjson.encode":     "cjson.encode(t)",
		"cjson.decode":     "cjson.decode(s)",
		"cmsgpack.pack":    "cmsgpack.pack(t)",
		"cmsgpack.unpack":  "cmsgpack.unpack(p)",
		"struct.pack":      "struct.pack('>I4Hs', i, 7, 'abc')",
		"string.format":    "string.format('%s:%05d', 'abc', i)",
		"string.gsub":      "string.gsub('hello world', 'o', '0')",
		"concatenation":    "local x = 'a' .. i .. 'b'",
		"pcall":            "pcall(tostring, i)",
		"table.sort of 10": "local l = {5, 2, 8, 1, 9, 3, 7, 4, 6, 0} table.sort(l)",
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			L := lua.NewState(lua.Options{SkipOpenLibs: true})
			defer L.Close()
			m := unmetered{}
			Open(L, m, NewWorld(processorTime))
			proto, err := Compile("local s = '"+session+"' local t = cjson.decode(s) local p = cmsgpack.pack(t) "+
				"return function() for i = 1, 100 do "+line+" end end", "user_script", m)
			if err != nil {
				b.Fatal(err)
			}
			L.Push(Function(L, proto))
			L.Call(0, 1)
			f := L.Get(-1)
			b.ReportAllocs()
			for b.Loop() {
				L.Push(f)
				L.Call(0, 0)
			}
		})
	}
}

// unmetered allows everything.
type unmetered struct{}

func (unmetered) Step(int) error { return nil }
func (unmetered) Take(int) error { return nil }
