package rdbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

var roomy = Options{Options: rdb.Options{MaxString: 512 << 20, MaxBloom: 1 << 20, HashKeys: new(structures.HashKeys)}, MaxKey: 1 << 10, Databases: 16}

// sealed ends a file with its checksum.
func sealed(body string) string {
	body += "\xff"
	sum := ^crc64.Update(^uint64(0), crc64.MakeTable(0x95ac9329ac4bc9b5), []byte(body))
	return body + string(binary.LittleEndian.AppendUint64(nil, sum))
}

// read reads a file and says what is in it.
func read(in io.Reader, size int64, o Options) (string, *Reader, error) {
	r := NewReader(in, size, o)
	var b strings.Builder
	for {
		rec, err := r.Next()
		if err != nil {
			return b.String(), r, err
		}
		if rec.Kind != KeyRecord {
			fmt.Fprintf(&b, "%d %q; ", rec.Kind, rec.Text)
			continue
		}
		fmt.Fprintf(&b, "%d %q %d %d %d", rec.DB, rec.Key, rec.Expire, rec.Idle, rec.Freq)
		v, err := r.Value(nil)
		if err != nil {
			return b.String(), r, err
		}
		fmt.Fprintf(&b, " kind %d %q%s; ", v.Kind, v.Bytes, v.Foreign)
	}
}

const (
	begin = "REDIS0011"
	key   = "\x00\x01k\x01v"
)

// Every record is read or passed over, and belongs to the key that follows it whatever is
// in between.
func TestEveryRecordIsRead(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{sealed(begin), ""},
		{"REDIS0001" + key + "\xff", `0 "k" 0 -1 -1 kind 1 "v"; `},
		{"REDIS0004\xfe\x03" + key + "\xff", `3 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed("VALKEY080" + key), `0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed("REDIS0099" + key), `0 "k" 0 -1 -1 kind 1 "v"; `},
		{begin + key + "\xff\x00\x00\x00\x00\x00\x00\x00\x00", `0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xfa\x09redis-ver\x057.4.1\xfb\x81\x10\x00\x00\x00\x00\x00\x00\x00\x00\xfe\x02" + key), `2 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xfd\x01\x00\x00\x00" + key + key), `0 "k" 1000 -1 -1 kind 1 "v"; 0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xfc\x02\x00\x00\x00\x00\x00\x00\x00\xf8\x40\x64\xfa\x01a\x01b\xf4\x01\x02\x03" + key), `0 "k" 2 100 -1 kind 1 "v"; `},
		{sealed(begin + "\xf9\x07" + key), `0 "k" 0 -1 7 kind 1 "v"; `},
		{sealed(begin + "\xf5\x03abc\xfa\x03lua\x08return 1" + key), `2 "abc"; 3 "return 1"; 0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xf7\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04\x02\x02\x05\x01x\x00" + key + "\x6b\x05\x79\x06" + key),
			`0 "k" 0 -1 -1 kind 1 "v"; 0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xfc\x02\x00\x00\x00\x00\x00\x00\x00\xf3\x01abcd\x02\x05\x00" + key), `0 "k" 2 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xf2\x07\x01\x01f\x20\x01h\x07\x01v" + key), `0 "h" 0 -1 -1 kind 3 ""; 0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\xc8\x01s\x20\x03abc" + key), `0 "s" 0 -1 -1 kind 32 "abc"; 0 "k" 0 -1 -1 kind 1 "v"; `},
		{sealed(begin + "\x1c\x01a\x01\x00\x00\x00\x01x" + key), `0 "a" 0 -1 -1 kind 0 ""array; 0 "k" 0 -1 -1 kind 1 "v"; `},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
			if got, _, err := read(in, -1, roomy); err != io.EOF || got != c.want {
				t.Errorf("%q: got %s, %v, want %s", c.file, got, err, c.want)
			}
		}
		if body := strings.TrimSuffix(c.file, "\x00\x00\x00\x00\x00\x00\x00\x00"); body == c.file {
			for cut := range len(c.file) {
				_, r, err := read(strings.NewReader(c.file[:cut]), int64(cut), roomy)
				e := new(Error)
				if !errors.As(err, &e) || e.Offset > int64(cut) || !errors.Is(err, structures.ErrCorrupt) {
					t.Fatalf("%q: got %v", c.file[:cut], err)
				}
				if _, again := r.Next(); again == nil || again == io.EOF {
					t.Errorf("%q: then %v", c.file[:cut], again)
				}
			}
		}
	}
}

// A damaged file is an error that says where and why.
func TestErrorsSayWhereAndWhy(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"", "offset 0: the end"},
		{"REDIS00x1", `offset 9: "REDIS00x1" begins no RDB file`},
		{"REDIS0000", "begins no RDB file"},
		{"*1\r\n$4\r\nPING\r\n", "begins no RDB file"},
		{begin + key + "\xff\x01\x02\x03\x04\x05\x06\x07\x08", "offset 23: checksum 0807060504030201, and of what was read"},
		{begin + "\xfe\x10" + key, "offset 11: database 16, of 16: the directive databases allows more"},
		{begin + "\x63\x01k\x01v", `offset 12 (key "k", database 0): type 99, in a file of version 11, is not known`},
		{begin + "\xfe\x02\x04\x04user\x01\x01a\x40", `offset 21 (key "user", database 2): the end, in place of 1 bytes`},
		{begin + "\x06\x01k\x00", "module of a release candidate"},
		{begin + "\xf6\x01k\x00", "release candidate of Redis 7.0"},
		{begin + "\x00\x44\x01" + strings.Repeat("k", 1025) + "\x01v", "a key of 1025 bytes, more than 1024"},
		{begin + "\x00\x01k\x81\x00\x00\x01\x00\x00\x00\x00\x00abc", "string of 1099511627776 bytes"},
		{"VALKEY080\xf3\x03abc\x01\x00\x05" + key, "only a part of their keys"},
	} {
		_, _, err := read(strings.NewReader(c.file), -1, roomy)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.file, err, c.want)
		}
	}
}

// What is passed over is counted.
func TestWhatIsPassedOverIsCounted(t *testing.T) {
	o := roomy
	o.Importing = true
	_, r, err := read(strings.NewReader(sealed("VALKEY080\xf3\x03abc\x02\x00\x05\x07\x07\xfa\x0avalkey-ver\x059.0.0"+key)), -1, o)
	if err != io.EOF || r.Passed.Slots != 7 || !r.Valkey || r.Version != 80 || r.Aux["valkey-ver"] != "9.0.0" {
		t.Errorf("got %+v, version %d, %v, %v", r.Passed, r.Version, r.Aux, err)
	}
	_, r, err = read(strings.NewReader(sealed(begin+"\xf7\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04\x02\x02\x00\xf3\x02abcd\x00efgh\x01\x05\x00"+key)), -1, o)
	if err != io.EOF || r.Passed.Meta != 1 || len(r.Passed.ModuleAux) != 1 {
		t.Errorf("got %+v, %v", r.Passed, err)
	}
}

// A type that Redis and Valkey gave the same number is read as the one who wrote the file meant it.
func TestTheMagicDecidesOnTypesWithTwoMeanings(t *testing.T) {
	valkey := "\x16\x01h\x01\x01f\x01v\xe8\x03\x00\x00\x00\x00\x00\x00"
	redis := "\x16\x01h\x01\x43\xe8\x01f\x01v"
	for file, ok := range map[string]bool{"VALKEY080" + valkey: true, "REDIS0012" + redis: true, "REDIS0080" + redis: true, "VALKEY012" + valkey: true,
		"REDIS0012" + valkey: false, "VALKEY080" + redis: false} {
		if _, _, err := read(strings.NewReader(sealed(file)), -1, roomy); (err == io.EOF) != ok {
			t.Errorf("%q: got %v", file, err)
		}
	}
}

// What follows the checksum is there to be read: in an AOF commands do.
func TestRestIsWhatFollows(t *testing.T) {
	_, r, err := read(strings.NewReader(sealed(begin+key)+"*1\r\n$4\r\nPING\r\n"), -1, roomy)
	rest, restErr := io.ReadAll(r.Rest())
	if err != io.EOF || restErr != nil || string(rest) != "*1\r\n$4\r\nPING\r\n" {
		t.Errorf("got %q, %v, %v", rest, err, restErr)
	}
}

// FuzzReader reads anything, and skips it. Memory is in proportion to the file.
func FuzzReader(f *testing.F) {
	f.Add([]byte(sealed(begin + key)))
	f.Add([]byte(sealed("VALKEY080\xf3\x03abc\x01\x00\x05" + key)))
	f.Add([]byte(sealed(begin + "\xf2\x07\x01\x01f\x20\x01h\x07\x01v\xc8\x01s\x20\x03abc\x1c\x01a\x01\x00\x00\x00\x01x")))
	f.Add([]byte(begin + "\xf7\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04\x02\x02\x05\x01x\x00\xf3\x01abcd\x02\x05\x00" + key + "\xff"))
	f.Add([]byte(begin + "\x00\x01k\xc3\x0a\x80\x00\x00\x03\x00\x00a\xe0\xff\x00\xe0\xff\x00\x00"))
	o := roomy
	o.MaxString, o.Importing = 1<<20, true
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(strings.NewReader(string(b)), -1, o)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(24<<20+20_000*len(b)); used > most {
			t.Errorf("%d bytes for %d", used, len(b))
		}
		r := NewReader(strings.NewReader(string(b)), int64(len(b)), o)
		skipErr := error(nil)
		for skipErr == nil {
			_, skipErr = r.Next()
		}
		if err == io.EOF && skipErr != io.EOF {
			t.Errorf("read, and skipped with %v", skipErr)
		}
	})
}
