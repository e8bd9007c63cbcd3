package server

import (
	"fmt"
	"strings"
	"testing"
)

// slowKeys is how many keys may change while a client does not read. Their names alone are
// several times what sockets and limits hold.
const slowKeys = 15_000

// slowKey is the name of such a key.
func slowKey(i int) string { return fmt.Sprintf("%06d%s", i, strings.Repeat("k", 1000)) }

// inBatches calls do with a range of keys for each batch of them, as long as it wants more.
func inBatches(do func(from, to int) (more bool)) {
	for i := 0; i < slowKeys && do(i, min(i+500, slowKeys)); i += 500 {
	}
}

// A client that is told of changed keys and does not read is disconnected: what waits for
// it is bounded, whoever writes is not held up, and nothing of it is left.
func TestClientThatDoesNotReadInvalidationsIsDisconnected(t *testing.T) {
	readKeys := func(before ...string) func(c *testClient) {
		return func(c *testClient) {
			inBatches(func(from, to int) bool {
				var b strings.Builder
				for i := from; i < to; i++ {
					if before != nil {
						b.WriteString(encode(before...))
					}
					b.WriteString(encode("GET", slowKey(i)))
				}
				c.raw(b.String())
				for range (to - from) * (1 + min(len(before), 1)) {
					c.reply()
				}
				return true
			})
		}
	}
	none := func(*testClient) {}
	limits := map[string]string{"client-output-buffer-limit": "normal 1mb 0 0 pubsub 1mb 0 0", "maxmemory-clients": "3mb"}
	for _, tt := range []struct {
		name, mode string
		prepare    func(c *testClient)
	}{
		{"of keys that it has read", "CLIENT TRACKING ON", readKeys()},
		{"of keys that it opted in", "CLIENT TRACKING ON OPTIN", readKeys("CLIENT", "CACHING", "YES")},
		{"of prefixes", "CLIENT TRACKING ON BCAST", none},
		{"for another client", "CLIENT TRACKING ON BCAST REDIRECT ", none},
	} {
		for directive, value := range limits {
			t.Run(tt.name+", "+directive, func(t *testing.T) {
				r := newRig(t)
				addr := r.loopback()
				slow, writer := r.dialTCP(addr), r.dialTCP(addr)
				teller, mode := slow, tt.mode
				if strings.HasSuffix(mode, "REDIRECT ") {
					teller, mode = r.dialTCP(addr), mode+slow.id()
					slow.want("SUBSCRIBE __redis__:invalidate", `["subscribe" "__redis__:invalidate" (int) 1]`)
				}
				teller.hello3().want(mode, "OK")
				tt.prepare(teller)
				r.config(directive, value)
				most, behind := int64(0), 0 // batches behind the end of the client
				drops := func() int64 { return r.srv.stats.outputLimitDrops.Load() + r.srv.stats.evictedClients.Load() }
				inBatches(func(from, to int) bool {
					var b strings.Builder
					for i := from; i < to; i++ {
						b.WriteString(encode("SET", slowKey(i), "v"))
					}
					writer.raw(b.String())
					for range to - from {
						if got := writer.reply(); got != "OK" {
							t.Fatalf("the writer: got %s", got)
						}
					}
					most = max(most, r.srv.memory.total.Load())
					r.clock.advance(cronPeriod)
					if drops() > 0 {
						behind++
					}
					return behind < 4
				})
				if most > 8<<20 {
					t.Errorf("clients held up to %d bytes", most)
				}
				if n := drops(); n != 1 {
					t.Errorf("disconnected clients: got %d, want the one that does not read", n)
				}
				if teller == slow {
					r.connected(1)
					if r.srv.tracking.Any() {
						t.Error("the tracking of a client that has gone goes on")
					}
					return
				}
				r.connected(2)
				teller.next(fmt.Sprintf(`>["tracking-redir-broken" (int) %d]`, 1))
			})
		}
	}
}
