package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// consumersOpen is how many batches are on their way: nearly all consumers wait at any
// time.
const consumersOpen = 16

// job is what many consumers wait for.
type job struct {
	name  string
	setup [][]string
	// wait is the call in which consumer i waits.
	wait func(i int) string
	// add is the calls that add batch n, which one consumer gets: so many elements.
	add      func(n int) string
	elements int
	// acknowledge is the call for the strings that a consumer got, and its reply; nil if
	// there is none.
	acknowledge func(got []string) (call, reply string)
}

// consumersBatch is how many entries of a stream a consumer gets at once.
const consumersBatch = 10

// entries are those of a stream, read by a group.
var entries = job{
	name:  "XREADGROUP",
	setup: [][]string{{"XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"}},
	wait: func(i int) string {
		return fmt.Sprintf("XREADGROUP GROUP g c%d COUNT %d BLOCK 0 STREAMS s >\r\n", i, consumersBatch)
	},
	add: func(int) string {
		return "MULTI\r\n" + strings.Repeat("XADD s MAXLEN ~ 10000 * field value\r\n", consumersBatch) + "EXEC\r\n"
	},
	elements: consumersBatch,
	acknowledge: func(got []string) (call, reply string) {
		var ids strings.Builder // got has s, then an ID, a name and a value for each entry
		for i := 1; i < len(got); i += 3 {
			ids.WriteString(" " + got[i])
		}
		return "XACK s g" + ids.String() + "\r\n", fmt.Sprintf(":%d\r\n", consumersBatch)
	},
}

// popKeys is how many keys consumers of many keys wait for in all, and popEach how many
// each of them does.
const popKeys, popEach = 1000, 10

// pops are elements of lists and sorted sets, for which consumers wait at one key or at
// many.
var pops = []job{
	{name: "BLPOP of one key", wait: func(int) string { return "BLPOP q 0\r\n" },
		add: func(int) string { return "RPUSH q v\r\n" }, elements: 1},
	{name: fmt.Sprintf("BLPOP of %d of %d keys", popEach, popKeys), wait: func(i int) string { return "BLPOP" + someKeys(i) + " 0\r\n" },
		add: func(n int) string { return fmt.Sprintf("RPUSH q%d v\r\n", n%popKeys) }, elements: 1},
	{name: "BZPOPMIN of one key", wait: func(int) string { return "BZPOPMIN q 0\r\n" },
		add: func(int) string { return "ZADD q 1 v\r\n" }, elements: 1},
	{name: fmt.Sprintf("BZPOPMIN of %d of %d keys", popEach, popKeys), wait: func(i int) string { return "BZPOPMIN" + someKeys(i) + " 0\r\n" },
		add: func(n int) string { return fmt.Sprintf("ZADD q%d 1 v\r\n", n%popKeys) }, elements: 1},
}

// someKeys are the keys that consumer i waits for.
func someKeys(i int) string {
	var b strings.Builder
	for j := range popEach {
		fmt.Fprintf(&b, " q%d", (i*popEach+j)%popKeys)
	}
	return b.String()
}

// crowd is consumers of one server that wait for a job, each with a connection of its own.
type crowd struct {
	job      *job
	producer *conn
	conns    []net.Conn
	served   chan error // of capacity consumersOpen: one for each batch that was read and acknowledged
	running  sync.WaitGroup
}

// gather connects n consumers to p, which then wait.
func gather(p *process, n int, j *job) (*crowd, error) {
	producer, err := dial(p.port)
	if err != nil {
		return nil, err
	}
	c := &crowd{job: j, producer: producer, served: make(chan error, consumersOpen)}
	for _, call := range append([][]string{{"FLUSHALL"}, {"CONFIG", "SET", "maxclients", strconv.Itoa(n + 100)}}, j.setup...) {
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
		c.running.Go(func() { c.consume(nc, i) }) // ends when the connection is closed
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

// consume waits for elements, acknowledges them, and waits again.
func (c *crowd) consume(nc net.Conn, i int) {
	wait := c.job.wait(i)
	if _, err := io.WriteString(nc, wait); err != nil {
		return
	}
	r := bufio.NewReaderSize(nc, 512)
	for {
		var got []string
		if err := readStrings(r, &got); err != nil {
			return
		}
		if c.job.acknowledge == nil {
			_, err := io.WriteString(nc, wait)
			c.served <- err
			continue
		}
		call, reply := c.job.acknowledge(got)
		if _, err := io.WriteString(nc, call+wait); err != nil {
			return
		}
		line, err := r.ReadString('\n')
		if err == nil && line != reply {
			err = fmt.Errorf("consumer %d: %s: %q", i, call, line)
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

// serve adds batches and returns the microseconds of processor time that p took for an
// element.
func (c *crowd) serve(p *process, batches int) (float64, error) {
	before := p.cpu()
	drained := make(chan struct{})
	go func() { // ends with the connection of the producer
		defer close(drained)
		io.Copy(io.Discard, c.producer.r)
	}()
	open := 0
	for sent := 0; sent < batches || open > 0; {
		if sent < batches && open < consumersOpen {
			if _, err := io.WriteString(c.producer, c.job.add(sent)); err != nil {
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
	return (p.cpu() - before) / float64(batches*c.job.elements) * 1e6, nil
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
func oneCrowd(o *options, p *process, j *job, rss *int64) (micros float64, err error) {
	c, err := gather(p, o.consumers, j)
	if c != nil {
		defer c.close()
	}
	if err == nil {
		micros, err = c.serve(p, o.requests/10/j.elements)
		*rss = p.rss()
	}
	return micros, err
}

// waitingConsumers measures streams while many consumers of a group wait, and pops for
// which many clients do.
func waitingConsumers(o *options, r *report) error {
	r.section("Waiting consumers", fmt.Sprintf("CPU in us for one entry of a stream, added, delivered and acknowledged, while %d consumers of "+
		"its group wait in XREADGROUP BLOCK on connections of their own. %d entries are added in a transaction, so that one consumer gets them; "+
		"and for one element that is added while as many clients wait in BLPOP or BZPOPMIN, one of which gets it and waits again. "+
		"Medians of %d rounds (`vigil-bench -sections consumers -consumers %d -rounds %d`).", o.consumers, consumersBatch, o.rounds, o.consumers, o.rounds))
	r.row("waiting in", "CPU us", o.peerName()+" CPU us", "ratio", "RSS MB", o.peerName()+" RSS MB")
	r.rule(6)
	for _, j := range append([]job{entries}, pops...) {
		if err := withPair(o, func(ours, redis *process, _ string) error { return crowdsOf(o, r, &j, ours, redis) }); err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
	}
	return nil
}

func crowdsOf(o *options, r *report, j *job, ours, redis *process) error {
	var x, y, ratio []float64
	var rss [2]int64
	for range o.rounds {
		a, err := oneCrowd(o, ours, j, &rss[0])
		if err != nil {
			return err
		}
		b, err := oneCrowd(o, redis, j, &rss[1])
		if err != nil {
			return err
		}
		x, y, ratio = append(x, a), append(y, b), append(ratio, a/b)
	}
	text := func(v []float64) string { return fmt.Sprintf("%.2f", middle(v)) }
	r.row(j.name, text(x), text(y), text(ratio), strconv.FormatInt(rss[0]>>20, 10), strconv.FormatInt(rss[1]>>20, 10))
	return nil
}
