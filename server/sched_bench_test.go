package server

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// schedNodes is the size of the schedules that are measured.
const schedNodes = 1_000_000

// crawler is a worker that probes the nodes of a schedule: it asks for nodes,
// one each time, and observes those of its pipeline before.
type crawler struct {
	nc   net.Conn
	r    *bufio.Reader
	out  []byte
	held [][]byte // names of nodes to be observed; the memory is reused
	got  int      // how many of held are in use
}

func newCrawler(nc net.Conn) *crawler {
	return &crawler{nc: nc, r: bufio.NewReaderSize(nc, 64<<10)}
}

// round sends n calls of SCHED.NEXT, each followed by an SCHED.OBSERVE if
// there is something to observe, and reads the replies.
func (c *crawler) round(n int) error {
	c.out = c.out[:0]
	observed := c.got
	for i := range n {
		c.out = append(c.out, "*2\r\n$10\r\nSCHED.NEXT\r\n$1\r\ns\r\n"...)
		if i < observed {
			c.out = append(c.out, "*4\r\n$13\r\nSCHED.OBSERVE\r\n$1\r\ns\r\n$"...)
			c.out = strconv.AppendInt(c.out, int64(len(c.held[i])), 10)
			c.out = append(append(c.out, '\r', '\n'), c.held[i]...)
			c.out = append(c.out, "\r\n$1\r\n1\r\n"...)
		}
	}
	if _, err := c.nc.Write(c.out); err != nil {
		return err
	}
	c.got = 0
	for i := range n {
		if err := c.readPick(); err != nil {
			return err
		}
		if i < observed {
			if line, err := c.r.ReadSlice('\n'); err != nil || line[0] != ':' {
				return fmt.Errorf("SCHED.OBSERVE: %q %v", line, err)
			}
		}
	}
	return nil
}

// readPick keeps the node of a reply to SCHED.NEXT, which may be none. The calls
// that observe the nodes of before are sent by then.
func (c *crawler) readPick() error {
	line, err := c.r.ReadSlice('\n')
	if err != nil || line[0] != '*' {
		return fmt.Errorf("SCHED.NEXT: %q %v", line, err)
	}
	if line[1] == '0' {
		return nil
	}
	if _, err = c.r.ReadSlice('\n'); err != nil {
		return err
	}
	if line, err = c.r.ReadSlice('\n'); err != nil {
		return err
	}
	if c.got == len(c.held) {
		c.held = append(c.held, nil)
	}
	c.held[c.got] = append(c.held[c.got][:0], bytes.TrimRight(line, "\r\n")...)
	c.got++
	return nil
}

// addNodes adds n nodes with some rates in pipelines of commands of so many
// nodes each.
func addNodes(tb testing.TB, c *testClient, n, each int) {
	const pipeline = 2000 // nodes
	var b []byte
	for i := 0; i < n; i += pipeline {
		b = b[:0]
		for first := i; first < i+pipeline; first += each {
			b = fmt.Appendf(b, "*%d\r\n$9\r\nSCHED.ADD\r\n$1\r\ns\r\n", 2+3*each)
			for k := first; k < first+each; k++ {
				b = fmt.Appendf(b, "$12\r\nnode-%07d\r\n$4\r\nRATE\r\n$5\r\n0.%03d\r\n", k, 100+k*7919%900)
			}
		}
		if _, err := c.nc.Write(b); err != nil {
			tb.Fatal(err)
		}
		for range pipeline / each {
			if line, err := c.r.ReadSlice('\n'); err != nil || line[0] != ':' {
				tb.Fatalf("SCHED.ADD: %q %v", line, err)
			}
		}
	}
}

// schedPolicies are the policies measured: those of VIGIL_SCHED, or two.
func schedPolicies() []string {
	if list := os.Getenv("VIGIL_SCHED"); list != "" {
		return strings.Fields(list)
	}
	return []string{"index", "memoryless"}
}

// BenchmarkSchedule is a SCHED.NEXT and a SCHED.OBSERVE of a schedule of a
// million nodes: by one worker and by four, in pipelines of 50 pairs.
func BenchmarkSchedule(b *testing.B) {
	for _, policy := range schedPolicies() {
		r := newRig(b, func(o *Options) { o.Clock = nil })
		c := r.dial()
		c.want("SCHED.CREATE s POLICY "+policy+" ESTIMATOR change SEED 1", "OK")
		addNodes(b, c, schedNodes, 100)
		addr := r.loopback()
		for name, dial := range map[string]func() (net.Conn, error){
			"memory": r.srv.Dial,
			"socket": func() (net.Conn, error) { return net.Dial("tcp", addr) },
		} {
			for _, workers := range []int{1, 4} {
				b.Run(fmt.Sprintf("policy=%s/%s/workers=%d", policy, name, workers), func(b *testing.B) {
					benchmarkWorkers(b, dial, workers)
				})
			}
		}
	}
}

func benchmarkWorkers(b *testing.B, dial func() (net.Conn, error), workers int) {
	const pipeline = 50
	crawlers := make([]*crawler, workers)
	for i := range crawlers {
		nc, err := dial()
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		crawlers[i] = newCrawler(nc)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i, c := range crawlers {
		rounds := b.N/workers + min(1, max(0, b.N%workers-i))
		all.Go(func() {
			for ; rounds > 0; rounds -= pipeline {
				if err := c.round(min(rounds, pipeline)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// BenchmarkSchedAdd fills a schedule with a million nodes, which is one op.
func BenchmarkSchedAdd(b *testing.B) {
	for _, each := range []int{1, 100} {
		b.Run(fmt.Sprintf("nodes=%d", each), func(b *testing.B) {
			r := newRig(b, func(o *Options) { o.Clock = nil })
			c := r.dial()
			for b.Loop() {
				c.want("FLUSHALL", "OK")
				c.want("SCHED.CREATE s SEED 1", "OK")
				addNodes(b, c, schedNodes, each)
			}
		})
	}
}
