package rdb

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/structurestest"
)

// jsonBody is the body of a document in a version, with the fields in hexadecimal.
func jsonBody(version byte, fields string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(fields, " ", ""))
	if err != nil {
		panic(err)
	}
	return "\x07\x81\x45\xe2\x52\x38\xdf\x91\x2c" + string(version) + string(b) + "\x00"
}

// cborBody is jsonBody of an item of CBOR.
func cborBody(item string) string {
	n := len(strings.ReplaceAll(item, " ", "")) / 2
	return jsonBody(4, "05"+hex.EncodeToString(appendLength(nil, uint64(n)))+item)
}

// jsonForms are documents in every version, with their texts.
func jsonForms() map[string]string {
	return map[string]string{
		jsonBody(3, "05 03 5b315d"):                "[1]",
		jsonBody(3, "05 c0 07"):                    "7",
		jsonBody(2, "05 03 5b315d 02 00"):          "[1]",
		jsonBody(2, "05 01 31 02 01 0500 0501 78"): "1",
		jsonBody(0, "02 01"):                       "null",
		jsonBody(0, "02 20 02 02 02 4080 05 01 61 02 08 02 05 02 4080 05 01 61 02 10 05 01 30"): `{"a":false}`,
		jsonBody(0, "02 4040 02 02 02 02 05 01 78 02 04 04 000000000000f87f"):                   `["x",null]`,
		cborBody("f6"): "null", cborBody("f7"): "null", cborBody("f5"): "true", cborBody("17"): "23", cborBody("1818"): "24", cborBody("1bffffffffffffffff"): "18446744073709551615",
		cborBody("3b7fffffffffffffff"): "-9223372036854775808", cborBody("f93c00"): "1.0", cborBody("f97e00"): "null", cborBody("fa7f800000"): "null",
		cborBody("fb3ff3ae147ae147ae"): "1.23", cborBody("60"): `""`, cborBody("62c3a9"): `"é"`, cborBody("7f61616162ff"): `"ab"`, cborBody("9f01ff"): "[1]",
		cborBody("bf616101616102ff"): `{"a":2}`, cborBody("a17f6161ff01"): `{"a":1}`, cborBody("d8404301ff00"): "[1,255,0]", cborBody("d8484301ff00"): "[1,-1,0]",
		cborBody("d8454401000001"): "[1,256]", cborBody("d84d44ffff0100"): "[-1,1]", cborBody("d84648ffffffff01000000"): "[4294967295,1]", cborBody("d84e44ffffffff"): "[-1]",
		cborBody("d84748ffffffffffffffff"): "[18446744073709551615]", cborBody("d84f48ffffffffffffffff"): "[-1]", cborBody("d85442003e"): "[1.5]", cborBody("d855440000c03f"): "[1.5]",
		cborBody("d85648000000000000f83f"): "[1.5]", cborBody("da0001000042c03f"): "[1.5]", cborBody("d85440"): "[]", cborBody("d85442007c"): "[null]",
		cborBody(strings.Repeat("81", 127) + "80"): strings.Repeat("[", 128) + strings.Repeat("]", 128),
	}
}

func TestJSONDocumentsOfEveryVersionAreRead(t *testing.T) {
	for body, want := range jsonForms() {
		v, err := Decode(sealed(body), roomy)
		if err != nil || v.Kind != structures.KindJSON {
			t.Errorf("%x: got kind %d, %v, want %s", body, v.Kind, err, want)
			continue
		}
		if got := string(json.AppendText(nil, v.Value.(*json.Document).Root())); got != want {
			t.Errorf("%x: got %s, want %s", body, got, want)
		}
	}
}

// A payload that lies is refused, soon and without the memory that it announces.
func TestBadJSONDocumentsAreRefused(t *testing.T) {
	deep := strings.Repeat("024040 0201", 128)
	for _, body := range []string{
		jsonBody(1, "05 01 31"), jsonBody(5, "05 01 31"), jsonBody(3, ""), jsonBody(3, "05 05 7b2261223a"), jsonBody(3, "05 03 312031"), jsonBody(3, "05 03 22ff22"),
		jsonBody(3, "02 01"), jsonBody(2, "05 01 31"), jsonBody(2, "05 01 31 02 02"), jsonBody(0, "02 03"), jsonBody(0, "02 20 02 01 02 01"), jsonBody(0, deep+"0201"),
		jsonBody(0, "02 4040 02 81 1000000000000000"), jsonBody(0, "02 20 02 81 1000000000000000 02 4080 05 01 61 02 01"),
		jsonBody(3, "05 4080"+hex.EncodeToString([]byte(strings.Repeat("[", 128)))),
		cborBody(""), cborBody("4101"), cborBody("c249010000000000000000"), cborBody("3b8000000000000000"), cborBody("a10102"), cborBody("a141610a"), cborBody("0101"), cborBody("81"),
		cborBody("9b1000000000000000"), cborBody("bb1000000000000000"), cborBody("7b1000000000000000"), cborBody("d8555b1000000000000000"), cborBody("d855430000c0"), cborBody("d8414101"),
		cborBody("61ff"), cborBody("ff"), cborBody("1c"), cborBody("1f"), cborBody("7f7f6161ffff"), cborBody("7f01ff"), cborBody("f800"), cborBody("e0"), cborBody("d85501"), cborBody("a1ff"),
		cborBody(strings.Repeat("81", 128) + "80"), cborBody(strings.Repeat("9f", 20_000)), cborBody(strings.Repeat("c1", 20_000)),
	} {
		start := time.Now()
		v, err := Decode(sealed(body), roomy)
		if !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%.60x: got kind %d, %v", body, v.Kind, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%.60x: took %v", body, took)
		}
	}
	for body := range jsonForms() {
		for n := range len(body) {
			if _, err := Decode(sealed(body[:n]), roomy); !errors.Is(err, structures.ErrCorrupt) {
				t.Errorf("%x cut to %d bytes: %v", body, n, err)
			}
		}
	}
}

func TestJSONDocumentsComeBackFromTheirPayload(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 200 {
		text := randomJSON(r, 4)
		value, err := json.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := json.New(structurestest.Keys(1))
		d.SetRoot(nil, value)
		payload, err := Append(nil, d)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Decode(payload, roomy)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := json.AppendText(nil, v.Value.(*json.Document).Root()), json.AppendText(nil, d.Root()); string(got) != string(want) {
			t.Fatalf("got %.200s, want %.200s", got, want)
		}
	}
}

func randomJSON(r *rand.Rand, depth int) string {
	switch n := r.IntN(8); {
	case n < 4 || depth == 0:
		return []string{"null", "-17", "1.5e300", `"text"`, "true", "18446744073709551615", `"é\n"`, `"` + strings.Repeat("x", 9000) + `"`}[r.IntN(8)]
	case n < 6:
		parts := make([]string, r.IntN(8))
		for i := range parts {
			parts[i] = randomJSON(r, depth-1)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	parts := make([]string, r.IntN(8))
	for i := range parts {
		parts[i] = `"` + strings.Repeat("n", i) + `":` + randomJSON(r, depth-1)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
