package resp

import (
	"bytes"
	"strconv"
	"testing"
)

// request encodes a command as clients do.
func request(args ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b = append(b, "$"+strconv.Itoa(len(a))+"\r\n"+a+"\r\n"...)
	}
	return b
}

// benchRequests are commands as a pipeline of a hundred has them.
func benchRequests() map[string][]byte {
	value := string(bytes.Repeat([]byte("v"), 100))
	wide := []string{"MSET"}
	for i := range 20 {
		wide = append(wide, "key:"+strconv.Itoa(i), value)
	}
	return map[string][]byte{
		"GET":    bytes.Repeat(request("GET", "key:000000000042"), 100),
		"SET":    bytes.Repeat(request("SET", "key:000000000042", value), 100),
		"MSET20": bytes.Repeat(request(wide...), 100),
		"inline": bytes.Repeat([]byte("SET key:000000000042 \"a b\"\r\n"), 100),
	}
}

// BenchmarkNext is the whole way from bytes to arguments; time is per command.
func BenchmarkNext(b *testing.B) {
	for name, input := range benchRequests() {
		b.Run(name, func(b *testing.B) {
			var f Framer
			var args [][]byte
			buf, rest := bytes.Clone(input), []byte(nil)
			b.ReportAllocs()
			for b.Loop() {
				if len(rest) == 0 {
					if name == "inline" {
						copy(buf, input)
					}
					rest = buf
				}
				argv, n, err := f.Next(rest, args)
				if argv == nil || err != nil {
					b.Fatal(n, err)
				}
				args, rest = argv, rest[n:]
			}
		})
	}
}

// BenchmarkProof is the part of Next before redcon: the difference between the
// two is what redcon's decoding costs (see docs/adr/0002-redcon-for-framing.md).
func BenchmarkProof(b *testing.B) {
	for name, input := range benchRequests() {
		if name == "inline" {
			continue // redcon has no part in it
		}
		b.Run(name, func(b *testing.B) {
			var f Framer
			var rest []byte
			b.ReportAllocs()
			for b.Loop() {
				if len(rest) == 0 {
					rest = input
				}
				n := f.array(rest)
				if n == 0 {
					b.Fatal(f.err)
				}
				f.pos, f.seen, f.count = 0, 0, 0
				rest = rest[n:]
			}
		})
	}
}
