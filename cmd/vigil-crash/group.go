package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// groupSize is the size of a group.
const groupSize = 3

// group is three servers with the same data, whose leader ends again and again.
type group struct {
	binary, policy, dir string
	old                 string            // an older program, "" for none; see mix
	mixed               bool              // servers of both programs are members
	runs                [groupSize]string // "" for binary
	view                string            // what clients see, "" for the default
	ports               [groupSize]int
	up                  [groupSize]*exec.Cmd
	counters            []*countingClient
	ends                ending   // how leaders end
	acks                chan ack // of counters, while the end of a leader is waited for
	watched             atomic.Bool
	latest              [groupSize]atomic.Pointer[time.Time] // acknowledgements of each server
	stop                atomic.Bool
	lost                atomic.Value // an error: of the first write that is missing
}

// ack is an acknowledged write.
type ack struct {
	server int
	at     time.Time
}

// countingClient is a client that counts upwards in a key of its own, at the server that takes it. Each write returns
// the number before, which must not be less than what was acknowledged.
type countingClient struct {
	key          string
	asked, acked int // the number that was sent last, and that which was acknowledged last
	at           int // server
	conn         *client
}

// runGroups ends the leaders of a group for each policy, and prints what that came to.
func runGroups(binary, old string, times int, how ending, policies []string, seed uint64) error {
	fmt.Printf("seed %d\n\n", seed)
	fmt.Println("| appendfsync | leaders ended by " + endings[how] + " | acknowledged | lost | median until the next write, ms | 99 % | longest |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	r := rand.New(rand.NewPCG(seed, 0))
	for _, policy := range policies {
		dir, err := os.MkdirTemp("", "vigil-crash")
		if err != nil {
			return err
		}
		g := &group{binary: binary, old: old, policy: policy, dir: dir, ends: how, acks: make(chan ack, 1)}
		gaps, err := g.run(times, r)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", dir, policy, err)
		}
		slices.Sort(gaps)
		acked := 0
		for _, c := range g.counters {
			acked += c.acked
		}
		at := func(part float64) int64 { return gaps[int(math.Ceil(part*float64(len(gaps))))-1].Milliseconds() }
		fmt.Printf("| %s | %d | %d | 0 | %d | %d | %d |\n", policy, len(gaps), acked, at(.5), at(.99), at(1))
		os.RemoveAll(dir)
	}
	return nil
}

// run returns how long the group was without a leader after the end of each. A write that was
// lost is an error.
func (g *group) run(times int, r *rand.Rand) (gaps []time.Duration, err error) {
	if err := g.choosePorts(r); err != nil {
		return nil, err
	}
	defer g.killAll()
	for i := range g.up {
		g.runs[i], g.mixed = g.old, g.old != ""
		if err := g.start(i); err != nil {
			return nil, err
		}
	}
	var clients sync.WaitGroup
	for k := range 8 {
		c := &countingClient{key: "counter:" + strconv.Itoa(k)}
		g.counters = append(g.counters, c)
		clients.Go(func() { g.count(c) })
	}
	for k := range times {
		if g.mixed && k >= times/2 {
			if err = g.upgrade(); err != nil {
				break
			}
		}
		var gap time.Duration
		if gap, err = g.endLeader(r); err != nil {
			break
		}
		gaps = append(gaps, gap)
	}
	g.stop.Store(true)
	clients.Wait()
	if lost := g.lost.Load(); lost != nil {
		return nil, lost.(error)
	}
	if err != nil {
		return nil, err
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	return gaps, g.refuseOld()
}

// choosePorts finds ports that are free, also those 10000 higher.
func (g *group) choosePorts(r *rand.Rand) error {
	for range 100 {
		base, free := 10000+r.IntN(12000), true
		for i := range g.ports {
			g.ports[i] = base + i
			for _, port := range []int{base + i, base + i + 10000} {
				l, err := net.Listen("tcp", address(port))
				if err != nil {
					free = false
					continue
				}
				l.Close()
			}
		}
		if free {
			return nil
		}
	}
	return errors.New("no ports are free")
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (g *group) start(i int) error {
	list := ""
	for k, port := range g.ports {
		list += fmt.Sprintf("%d=%s ", k+1, address(port))
	}
	args := []string{"--cluster-members", list, "--cluster-member-id", strconv.Itoa(i + 1)}
	if g.view != "" {
		args = append(args, "--cluster-view", g.view)
	}
	var err error
	g.up[i], err = startMember(cmp.Or(g.runs[i], g.binary), g.policy, filepath.Join(g.dir, strconv.Itoa(i)), g.ports[i], args...)
	return err
}

// startMember starts a server of a group with a directory, in which it logs.
func startMember(binary, policy, dir string, port int, args ...string) (*exec.Cmd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := exec.Command(binary, append([]string{"--port", strconv.Itoa(port), "--dir", dir, "--appendfsync", policy, "--save", "",
		"--cluster-secret", "a secret of vigil-crash"}, args...)...)
	p.Stdout, p.Stderr = log, log
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// dial connects to a server, for calls that end within patience.
func (g *group) dial(i int) (*client, error) { return dialPort(g.ports[i]) }

func dialPort(port int) (*client, error) {
	nc, err := net.DialTimeout("tcp", address(port), time.Second)
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return &client{nc: nc, r: bufio.NewReader(nc), w: bufio.NewWriter(nc)}, nil
}

// count writes until the end. A call without a reply may have been executed: the number is
// written again.
func (g *group) count(c *countingClient) {
	for !g.stop.Load() {
		got, err := "", error(nil)
		if c.conn == nil {
			c.conn, err = g.dial(c.at)
		}
		if err == nil {
			c.asked = c.acked + 1
			got, err = c.conn.do("SET", c.key, strconv.Itoa(c.asked), "GET")
		}
		if before, ok := number(got), err == nil && !strings.HasPrefix(got, "-"); ok {
			if before < c.acked || before > c.asked {
				g.lost.CompareAndSwap(nil, fmt.Errorf("%s was %s: %d was acknowledged, %d was asked for", c.key, got, c.acked, c.asked))
			}
			c.acked++
			g.acknowledged(c.at)
			continue
		}
		if c.conn != nil {
			c.conn.nc.Close()
			c.conn = nil
		}
		c.at = (c.at + 1) % groupSize
		time.Sleep(time.Millisecond) // while there is no leader
	}
}

func (g *group) acknowledged(server int) {
	if !g.watched.Load() {
		return
	}
	now := time.Now()
	g.latest[server].Store(&now)
	select {
	case g.acks <- ack{server, now}:
	default: // one is enough
	}
}

// next waits for an acknowledgement of a server that is asked for.
func (g *group) next(wanted func(ack) bool) (ack, error) {
	g.watched.Store(true)
	defer g.watched.Store(false)
	for late := time.After(patience); ; {
		select {
		case a := <-g.acks:
			if wanted(a) {
				return a, nil
			}
		case <-late:
			return ack{}, errors.New("no write is acknowledged")
		}
	}
}

// endLeader ends the leader while clients write, or makes it hand over, waits for the next one, and starts the
// former again, which has to catch up. After kill -9 the gap begins with the end of the process, and
// otherwise with the last write that it acknowledged.
func (g *group) endLeader(r *rand.Rand) (gap time.Duration, err error) {
	now := time.Now()
	a, err := g.next(func(a ack) bool { return a.at.After(now) })
	if err != nil {
		return 0, err
	}
	time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	ended, leaves := time.Now(), func() error { return nil }
	switch g.ends {
	case orderly:
		leaves = g.terminate(a.server)
	case byFailover:
		if err := g.handOver(a.server); err != nil {
			return 0, err
		}
	case byKillOfAll:
		return g.killWhole(r)
	default:
		g.kill(a.server)
	}
	next, err := g.successor(a.server, ended)
	if err := errors.Join(err, leaves()); err != nil {
		return 0, err
	}
	if last := g.latest[a.server].Load(); g.ends != byKill && last.After(ended) {
		ended = *last
	}
	if g.ends != byFailover {
		g.mix(a.server, r)
		if err := g.start(a.server); err != nil {
			return 0, err
		}
	}
	return max(0, next.at.Sub(ended)), g.caughtUp(a.server)
}

// asksAgain is how long a leader that was to hand over may go on before it is asked again.
const asksAgain = 2 * time.Second

// successor waits for a write that another server than the former leader acknowledges. A failover can come to nothing: where
// disks are slow, the vote of the next leader may take so long that the former one is elected again. It is asked for
// again then, as an operator would.
func (g *group) successor(former int, ended time.Time) (next ack, err error) {
	asked := ended
	wanted := func(a ack) bool {
		return a.at.After(ended) && (a.server != former || g.ends == byFailover && a.at.After(asked.Add(asksAgain)))
	}
	for late := ended.Add(patience); ; asked = time.Now() {
		next, err = g.next(wanted)
		if err != nil || next.server != former {
			return next, err
		}
		if next.at.After(late) {
			return next, fmt.Errorf("server %d leads again after each failover", former)
		}
		if err := g.handOver(former); err != nil {
			return next, err
		}
	}
}

// killWhole kills all servers at once, starts them again, and waits for the next write. Some of the next to be killed may not have
// caught up then.
func (g *group) killWhole(r *rand.Rand) (gap time.Duration, err error) {
	killed := time.Now()
	for _, p := range g.up { // none of them lives to see that another one is gone
		_ = p.Process.Kill()
	}
	for _, i := range r.Perm(groupSize) {
		_ = g.up[i].Wait()
		if err := g.start(i); err != nil {
			return 0, err
		}
	}
	started := time.Now()
	next, err := g.next(func(a ack) bool { return a.at.After(started) })
	return next.at.Sub(killed), err
}

// handOver makes a leader hand over to another server. One that has ceased to lead meanwhile disconnects its clients.
func (g *group) handOver(i int) error {
	c, err := g.dial(i)
	if err != nil {
		return err
	}
	defer c.nc.Close()
	got, err := c.do("SENTINEL", "FAILOVER", "mymaster")
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && got != "OK" {
		err = errors.New(got)
	}
	if err != nil {
		return fmt.Errorf("server %d, SENTINEL FAILOVER: %w", i, err)
	}
	return nil
}

// caughtUp waits until a server has all that is committed: before, it may have no vote.
func (g *group) caughtUp(i int) error {
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		c, err := g.dial(i)
		if err != nil {
			continue
		}
		last, err = c.do("INFO", "replication")
		c.nc.Close()
		if err == nil && follows(last) {
			return nil
		}
	}
	return fmt.Errorf("server %d does not catch up: %s", i, last)
}

// follows reports whether INFO replication is that of a server which has all that its leader has committed.
func follows(info string) bool {
	return strings.Contains(info, "master_link_status:up") && strings.Contains(info, "master_sync_in_progress:0")
}

// check reads what counters wrote, at the leader.
func (g *group) check() error {
	for _, c := range g.counters {
		got, err := g.read(c.key)
		if err != nil {
			return err
		}
		if n, _ := strconv.Atoi(got); n < c.acked || n > c.asked {
			return fmt.Errorf("%s is %s: %d was acknowledged, %d was asked for", c.key, got, c.acked, c.asked)
		}
	}
	return nil
}

// read returns a value as the leader has it, which is the member that takes a write.
func (g *group) read(key string) (value string, err error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for i := range groupSize {
			c, dialed := g.dial(i)
			if err = dialed; err != nil {
				continue
			}
			var got string
			if got, err = c.do("SET", "leads", "1"); err == nil && got == "OK" {
				value, err = c.do("GET", key)
				c.nc.Close()
				return value, err
			}
			c.nc.Close()
		}
	}
	return "", errors.Join(errors.New("the group has no leader"), err)
}
