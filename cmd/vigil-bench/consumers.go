package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// consumersBatch is how many entries a consumer gets at once, and consumersOpen how many
// batches are on their way: nearly all consumers wait at any time.
const consumersBatch, consumersOpen = 10, 16

// crowd is consumers of one group of one server, each with a connection of its own, that
// wait in XREADGROUP.
type crowd struct {
	producer *conn
	conns    []net.Conn
	served   chan error // of capacity consumersOpen: one for each batch that was read and acknowledged
	running  sync.WaitGroup
}

// gather connects n consumers to p and has them wait.
func gather(p *process, n int) (*crowd, error) {
	producer, err := dial(p.port)
	if err != nil {
		return nil, err
	}
	c := &crowd{producer: producer, served: make(chan error, consumersOpen)}
	for _, call := range [][]string{{"FLUSHALL"}, {"CONFIG", "SET", "maxclients", strconv.Itoa(n + 100)}, {"XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"}} {
		if line, err := producer.do(call...); err != nil || line != "+OK" {
			return c, errors.Join(fmt.Errorf("%s: %s", strings.Join(call, " "), line), err)
		}
	}
	for i := range n {
		nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
		if err != nil {
			return c, err
		}
		c.conns = append(c.conns, nc)
		c.running.Go(func() { c.consume(nc, "c"+strconv.Itoa(i)) }) // ends when the connection is closed
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := producer.text("INFO", "clients")
		if err != nil {
			return c, err
		}
		if strings.Contains(text, fmt.Sprintf("blocked_clients:%d\r", n)) {
			return c, nil
		}
	}
	return c, fmt.Errorf("%s: the consumers do not wait after a minute", p.name)
}

// consume waits for entries, acknowledges them, and waits again.
func (c *crowd) consume(nc net.Conn, name string) {
	wait := fmt.Sprintf("XREADGROUP GROUP g %s COUNT %d BLOCK 0 STREAMS s >\r\n", name, consumersBatch)
	if _, err := io.WriteString(nc, wait); err != nil {
		return
	}
	r := bufio.NewReaderSize(nc, 512)
	for {
		var fields []string // s, then an ID, a name and a value for each entry
		if err := readStrings(r, &fields); err != nil {
			return
		}
		var ids strings.Builder
		for i := 1; i < len(fields); i += 3 {
			ids.WriteString(" " + fields[i])
		}
		if _, err := io.WriteString(nc, "XACK s g"+ids.String()+"\r\n"+wait); err != nil {
			return
		}
		line, err := r.ReadString('\n')
		if err == nil && line != fmt.Sprintf(":%d\r\n", consumersBatch) {
			err = fmt.Errorf("%s: acknowledged %q", name, line)
		}
		c.served <- err
	}
}

// readStrings reads a reply and appends the bulk strings in it.
func readStrings(r *bufio.Reader, out *[]string) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return fmt.Errorf("unexpected reply %q", line)
	}
	if line[0] == '$' {
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		*out = append(*out, string(body[:max(n, 0)]))
		return err
	}
	for range n {
		if err := readStrings(r, out); err != nil {
			return err
		}
	}
	return nil
}

// serve adds batches, each in one transaction, so that one consumer gets it, and returns
// the microseconds of processor time that p took for an entry.
func (c *crowd) serve(p *process, batches int) (float64, error) {
	before := p.cpu()
	add := "MULTI\r\n" + strings.Repeat("XADD s MAXLEN ~ 10000 * field value\r\n", consumersBatch) + "EXEC\r\n"
	drained := make(chan struct{})
	go func() { // ends with the connection of the producer
		defer close(drained)
		io.Copy(io.Discard, c.producer.r)
	}()
	open := 0
	for sent := 0; sent < batches || open > 0; {
		if sent < batches && open < consumersOpen {
			if _, err := io.WriteString(c.producer, add); err != nil {
				return 0, err
			}
			sent++
			open++
			continue
		}
		if err := <-c.served; err != nil {
			return 0, err
		}
		open--
	}
	c.producer.SetReadDeadline(time.Now())
	<-drained
	c.producer.SetReadDeadline(time.Time{})
	return (p.cpu() - before) / float64(batches*consumersBatch) * 1e6, nil
}

func (c *crowd) close() {
	c.producer.Close()
	for _, nc := range c.conns {
		nc.Close()
	}
	c.running.Wait()
}

// oneCrowd gathers consumers, serves them, and lets them go: there are not descriptors
// for those of two servers.
func oneCrowd(o *options, p *process, rss *int64) (micros float64, err error) {
	c, err := gather(p, o.consumers)
	if c != nil {
		defer c.close()
	}
	if err == nil {
		micros, err = c.serve(p, o.requests/1000)
		*rss = p.rss()
	}
	return micros, err
}

// waitingConsumers measures streams while many consumers of a group wait.
func waitingConsumers(o *options, r *report) error {
	return withPair(o, func(ours, redis *process, _ string) error {
		var x, y, ratio []float64
		var rss [2]int64
		for range o.rounds {
			a, err := oneCrowd(o, ours, &rss[0])
			if err != nil {
				return err
			}
			b, err := oneCrowd(o, redis, &rss[1])
			if err != nil {
				return err
			}
			x, y, ratio = append(x, a), append(y, b), append(ratio, a/b)
		}
		middle := func(v []float64) string { slices.Sort(v); return fmt.Sprintf("%.2f", v[len(v)/2]) }
		r.section("Waiting consumers", fmt.Sprintf("CPU in us for one entry of a stream, added, delivered and acknowledged, while %d consumers of "+
			"its group wait in XREADGROUP BLOCK on connections of their own. %d entries are added in a transaction, so that one consumer gets them; "+
			"medians of %d rounds (`vigil-bench -sections consumers -consumers %d -rounds %d`).", o.consumers, consumersBatch, o.rounds, o.consumers, o.rounds))
		r.row("CPU us", "redis CPU us", "ratio", "RSS MB", "redis RSS MB")
		r.rule(5)
		r.row(middle(x), middle(y), middle(ratio), strconv.FormatInt(rss[0]>>20, 10), strconv.FormatInt(rss[1]>>20, 10))
		return nil
	})
}
