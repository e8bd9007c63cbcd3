package server

import (
	"io"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/script/lua"
)

// BenchmarkScript is the cost of a script in a pipeline of 16.
func BenchmarkScript(b *testing.B) {
	for _, c := range []struct {
		name, script, reply string
		args                []string
	}{
		{"return", "return 1", ":1\r\n", []string{"0"}},
		{"set-get", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", "$5\r\nvalue\r\n", []string{"1", "key", "value"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b)
			client := r.dial()
			client.do("SCRIPT", "LOAD", c.script)
			digest := lua.DigestOf([]byte(c.script)).String()
			pipeline := strings.Repeat(encode(append([]string{"EVALSHA", digest}, c.args...)...), 16)
			replies := make([]byte, 16*len(c.reply))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%16 != 0 {
					continue
				}
				client.raw(pipeline)
				if _, err := io.ReadFull(client.r, replies); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
