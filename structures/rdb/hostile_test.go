package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func text1(s string) string { return string(appendLength(nil, uint64(len(s)))) + s }

// packListpack makes a listpack of elements, heads included.
func packListpack(elems ...string) string {
	var body []byte
	for _, e := range elems {
		body = append(body, e...)
		back := make([]byte, backLength(len(e)))
		for i, n := len(back)-1, len(e); i >= 0; i, n = i-1, n>>7 {
			back[i] = byte(n & 0x7f)
			if i > 0 {
				back[i] |= 0x80
			}
		}
		body = append(body, back...)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(7+len(body)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(elems)))
	return string(b) + string(body) + "\xff"
}

// packIntset makes an intset of integers of some bytes.
func packIntset(width int, ints ...int64) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(width))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(ints)))
	for _, v := range ints {
		b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(v))[:width]...)
	}
	return string(b)
}

// packZiplist makes a ziplist of elements, heads included.
func packZiplist(elems ...string) string {
	var body []byte
	last, before := 10, 0
	for _, e := range elems {
		last = 10 + len(body)
		if before < 254 {
			body = append(body, byte(before))
		} else {
			body = binary.LittleEndian.AppendUint32(append(body, 254), uint32(before))
		}
		body = append(body, e...)
		before = 10 + len(body) - last
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(11+len(body)))
	b = binary.LittleEndian.AppendUint32(b, uint32(last))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(elems)))
	return string(b) + string(body) + "\xff"
}

// forms are bodies of payloads in every form that is read, with what they hold.
func forms() map[string]string {
	x70, y260 := strings.Repeat("x", 70), strings.Repeat("y", 260)
	listpack := packListpack("\x07", "\x81a", "\xdf\xff", "\xe0\x46"+x70, "\xf0\x04\x01\x00\x00"+y260,
		"\xf1\x00\x80", "\xf2\xff\xff\x7f", "\xf3\x00\x00\x00\x80", "\xf4\x00\x00\x00\x00\x00\x00\x00\x80", "\x80")
	listpackElems := fmt.Sprintf(`"7" "a" "-1" %q %q "-32768" "8388607" "-2147483648" "-9223372036854775808" "" `, x70, y260)
	ziplist := packZiplist("\x01a", "\xfe\x80", "\xc0\x00\x80", "\x40\x46"+x70, "\x80\x00\x00\x01\x04"+y260,
		"\xf0\xff\xff\x7f", "\xd0\x00\x00\x00\x80", "\xe0\x00\x00\x00\x00\x00\x00\x00\x80", "\xf1", "\xfd", "\x00")
	ziplistElems := fmt.Sprintf(`"a" "-128" "-32768" %q %q "8388607" "-2147483648" "-9223372036854775808" "0" "12" "" `, x70, y260)
	expiry := "\xf4\xe8\x03\x00\x00\x00\x00\x00\x00"
	return map[string]string{
		"\x00\x03bar":                       "1 626172 ",
		"\x00\xc0\xff":                      "1 2d31 ",
		"\x00\xc1\x00\x80":                  "1 2d3332373638 ",
		"\x00\xc2\x00\x00\x00\x80":          "1 2d32313437343833363438 ",
		"\x00\xc3\x05\x16\x00a\xe0\x0c\x00": "1 " + strings.Repeat("61", 22) + " ",
		"\x01\x03\x01a\xc0\x7b\x00":         `2  "a" "123" "" `,
		"\x0a" + text1(ziplist):             "2  " + ziplistElems,
		"\x0e\x03" + text1(ziplist) + text1(packZiplist()) + text1(packZiplist("\x01z")): "2  " + ziplistElems + `"z" `,
		"\x12\x03\x02" + text1(listpack) + "\x01\x03one\x02" + text1(packListpack()):     "2  " + listpackElems + `"one" `,
		"\x04\x02\x01f\x01v\x00\x00":                                                         `3  map[:""@0 f:"v"@0]`,
		"\x02\x03\x01a\xc0\x7b\x00":                                                          `4  map[:true 123:true a:true]`,
		"\x0b" + text1(packIntset(2, -32768, 7)):                                             `4  map[-32768:true 7:true]`,
		"\x0b" + text1(packIntset(4, -70000, 7)):                                             `4  map[-70000:true 7:true]`,
		"\x0b" + text1(packIntset(8, math.MinInt64, math.MaxInt64)):                          `4  map[-9223372036854775808:true 9223372036854775807:true]`,
		"\x14" + text1(packListpack("\x81a", "\x01")):                                        `4  map[1:true a:true]`,
		"\x09" + text1("\x02\x01f\x01\x02v..\x01g\x00\x00\xff"):                              `3  map[f:"v"@0 g:""@0]`,
		"\x0d" + text1(packZiplist("\x01f", "\x01v", "\xf2", "\xf3")):                        `3  map[1:"2"@0 f:"v"@0]`,
		"\x10" + text1(packListpack("\x81f", "\x81v", "\x01", "\x02")):                       `3  map[1:"2"@0 f:"v"@0]`,
		"\x16\x02\x43\xe8\x01f\x01v\x00\x01g\x01w":                                           `3  map[f:"v"@1000 g:"w"@0]`,
		"\x18\xe8\x03\x00\x00\x00\x00\x00\x00\x03\x01\x01f\x01v\x00\x01g\x01w\x06\x01h\x01x": `3  map[f:"v"@1000 g:"w"@0 h:"x"@1005]`,
		"\x17" + text1(packListpack("\x81f", "\x81v", expiry, "\x81g", "\x81w", "\x00")):     `3  map[f:"v"@1000 g:"w"@0]`,
		"\x19\xe8\x03\x00\x00\x00\x00\x00\x00" +
			text1(packListpack("\x81f", "\x81v", expiry, "\x81g", "\x81w", "\x00")): `3  map[f:"v"@1000 g:"w"@0]`,
		"\x03\x04\x01b\x041e+3\x01a\x03-.5\x01z\xfe\x00\xff":                                    `5  ""@-Inf "a"@-0.5 "b"@1000 "z"@+Inf `,
		"\x05\x02\x01b\x00\x00\x00\x00\x00\x00\xf0\x7f\xc0\x07\x00\x00\x00\x00\x00\x00\xf8\x3f": `5  "7"@1.5 "b"@+Inf `,
		"\x0c" + text1(packZiplist("\x01b", "\xf4", "\x01a", "\x032.5")):                        `5  "a"@2.5 "b"@3 `,
		"\x11" + text1(packListpack("\x81b", "\x83inf", "\x81a", "\xdf\xff")):                   `5  "a"@-1 "b"@+Inf `,
	}
}

func TestEveryFormIsRead(t *testing.T) {
	for body, want := range forms() {
		v, err := Decode(sealed(body), roomy)
		if err != nil {
			t.Errorf("%q: %v", body, err)
			continue
		}
		if got := describe(v); got != want {
			t.Errorf("%q: got %s, want %s", body, got, want)
		}
	}
}

// No beginning of a good value is one, and nothing may stand behind it.
func TestValuesCutShortOrGoneOnAreRefused(t *testing.T) {
	for body := range forms() {
		for n := range len(body) {
			if _, err := Decode(sealed(body[:n]), roomy); !errors.Is(err, structures.ErrCorrupt) {
				t.Errorf("%d bytes of %q: got %v", n, body, err)
			}
		}
		if _, err := Decode(sealed(body+"\x00"), roomy); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%q and a byte: got %v", body, err)
		}
	}
}

// Any byte of a value may be anything: it is refused, or another value.
func TestDamageDoesNotPanic(t *testing.T) {
	for body := range forms() {
		for i := range len(body) {
			for _, x := range []byte{0x01, 0x80, 0xff, 0x40} {
				b := []byte(body)
				b[i] ^= x
				if _, err := Decode(sealed(string(b)), roomy); err != nil && !errors.Is(err, structures.ErrCorrupt) {
					t.Errorf("%q: %v", b, err)
				}
			}
		}
	}
}

func TestDamagedValuesAreRefused(t *testing.T) {
	pack := packListpack("\x81a", "\x81b")
	zip := packZiplist("\x01a", "\x01b")
	patch := func(s string, at int, with string) string { return s[:at] + with + s[at+len(with):] }
	for what, body := range map[string]string{
		"no type":                           "",
		"unknown type":                      "\x08\x01a",
		"set without members":               "\x02\x00",
		"member twice":                      "\x02\x02\x01a\x01a",
		"member twice in a listpack":        "\x14" + text1(packListpack("\x81a", "\x01", "\x811")),
		"intset without members":            "\x0b" + text1(packIntset(2)),
		"intset out of order":               "\x0b" + text1(packIntset(2, 2, 1)),
		"intset, twice the same":            "\x0b" + text1(packIntset(4, 2, 2)),
		"intset of another width":           "\x0b" + text1(packIntset(3, 1)),
		"intset, wrong count":               "\x0b" + text1(patch(packIntset(2, 1, 2), 4, "\x01")),
		"intset, too short":                 "\x0b" + text1("\x02\x00\x00\x00"),
		"list without elements":             "\x01\x00",
		"hash without fields":               "\x04\x00",
		"quicklist of nothing":              "\x12\x00",
		"quicklist of empty nodes":          "\x0e\x01" + text1(packZiplist()),
		"zipmap without fields":             "\x09" + text1("\x00\xff"),
		"field twice":                       "\x04\x02\x01f\x01v\x01f\x01w",
		"field twice in a ziplist":          "\x0d" + text1(packZiplist("\x01f", "\x01v", "\x01f", "\x01w")),
		"field without value":               "\x10" + text1(packListpack("\x81f")),
		"field without expiry":              "\x17" + text1(packListpack("\x81f", "\x81v")),
		"expiry that is text":               "\x17" + text1(packListpack("\x81f", "\x81v", "\x81x")),
		"expiry below zero":                 "\x17" + text1(packListpack("\x81f", "\x81v", "\xdf\xff")),
		"expiry too late":                   "\x16\x01\x81\x00\x01\x00\x00\x00\x00\x00\x00\x01f\x01v",
		"expiries from zero":                "\x18\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\x01f\x01v",
		"expiries from too late":            "\x18\x00\x00\x00\x00\x00\x00\x01\x00\x01\x01\x01f\x01v",
		"expiry too late from the least":    "\x18\xff\xff\xff\xff\xff\xff\x00\x00\x01\x02\x01f\x01v",
		"sorted set without members":        "\x05\x00",
		"sorted member twice":               "\x05\x02\x01b\x00\x00\x00\x00\x00\x00\x00\x00\x01b\x00\x00\x00\x00\x00\x00\xf0\x3f",
		"sorted member twice in a listpack": "\x11" + text1(packListpack("\x81b", "\x01", "\x81b", "\x02")),
		"score that is no number":           "\x05\x01\x01b\x00\x00\x00\x00\x00\x00\xf8\x7f",
		"decimal that is no number":         "\x03\x01\x01b\xfd",
		"score that is text":                "\x03\x01\x01b\x01x",
		"packed score that is text":         "\x11" + text1(packListpack("\x81b", "\x81x")),
		"packed score that is no number":    "\x11" + text1(packListpack("\x81b", "\x83nan")),
		"member without score":              "\x11" + text1(packListpack("\x81b")),
		"empty plain node":                  "\x12\x01\x01\x00",
		"node of an unknown form":           "\x12\x01\x03\x01a",
		"special length":                    "\x01\xc0\x01\x01a",
		"length of an unknown form":         "\x00\x82\x00\x00\x00\x01a",
		"string of an unknown form":         "\x00\xc4a",
		"listpack, too long":                "\x12\x01\x02" + text1(patch(pack, 0, "\xff")),
		"listpack, wrong count":             "\x12\x01\x02" + text1(patch(pack, 4, "\x03")),
		"listpack, wrong end":               "\x12\x01\x02" + text1(patch(pack, len(pack)-1, "\x00")),
		"listpack, wrong length behind":     "\x12\x01\x02" + text1(patch(pack, 8, "\x03")),
		"listpack, unknown head":            "\x12\x01\x02" + text1(patch(pack, 6, "\xf5")),
		"ziplist, too long":                 "\x0a" + text1(patch(zip, 0, "\xff")),
		"ziplist, wrong last":               "\x0a" + text1(patch(zip, 4, "\x0b")),
		"ziplist, wrong count":              "\x0a" + text1(patch(zip, 8, "\x03")),
		"ziplist, wrong length before":      "\x0a" + text1(patch(zip, 13, "\x04")),
		"ziplist, unknown head":             "\x0a" + text1(patch(zip, 11, "\xc1")),
		"zipmap, wrong count":               "\x09" + text1("\x02\x01f\x01\x00v\xff"),
		"LZF, nothing to copy":              "\x00\xc3\x03\x05\x20\x05\x00",
		"LZF, too short":                    "\x00\xc3\x02\x05\x00a",
		"LZF, too long":                     "\x00\xc3\x03\x01\x01ab",
		"module of another name":            "\x07\x81\x00\x00\x00\x00\x00\x00\x00\x01\x00",
	} {
		if v, err := Decode(sealed(body), roomy); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: got %s, %v", what, describe(v), err)
		}
	}
}

// A payload that declares much and has little costs little.
func TestNothingIsAllocatedOnAPromise(t *testing.T) {
	const huge = "\x81\x00\x00\x00\x10\x00\x00\x00\x00"
	for _, body := range []string{
		"\x00" + huge, "\x00\xc3\x01\x80\x20\x00\x00\x00a", "\x00\xc3" + huge + huge, "\x01" + huge, "\x03" + huge, "\x04" + huge, "\x05" + huge, "\x0e" + huge,
		"\x12" + huge, "\x12\x01\x02" + huge, "\x18\x01\x00\x00\x00\x00\x00\x00\x00" + huge, "\x0a\xc3\x02\x80\x1f\xff\xff\xff\x00a",
		"\x12\x01\x02" + text1("\x0c\x00\x00\x00\x01\x00\xf0\xff\xff\xff\xff\xff"),
		"\x0a" + text1("\x10\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x80\xff\xff\xff\xff"),
		"\x09" + text1("\x01\xfe\xff\xff\xff\xff\xff"),
		string(appendLength([]byte{typeModule}, bloomModule)) + "\x02\x00\x02\x80\xff\xff\xff\xff\x02\x05\x02\x02",
	} {
		payload := sealed(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(payload, Options{MaxString: 1 << 62, MaxBloom: 1 << 62})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%q: got %v", body, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%q: %d bytes allocated", body, n)
		}
	}
}
