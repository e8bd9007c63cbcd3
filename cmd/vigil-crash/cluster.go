package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// clusterGroups is how many groups a cluster has.
const clusterGroups = 3

// cluster is a Redis Cluster whose servers are killed while slots move from group to group.
type cluster struct {
	binary, policy, dir string
	members             int // of each group
	r                   *rand.Rand
	nodes               []*clusterNode // those of a group side by side
	writers             []*slotWriter
	route               [commands.Slots]atomic.Int32 // which of nodes to ask first
	stop                atomic.Bool
	// kills, orders and failovers are how many servers were killed, and how many calls of REBALANCE and CLUSTER FAILOVER obeyed.
	kills, orders, failovers int
}

// clusterNode is a server.
type clusterNode struct {
	port int
	id   string // as clients see it
	up   *exec.Cmd
}

// runClusters kills servers for each policy, and prints what that came to.
func runClusters(binary string, kills, replicas int, policies []string, seed uint64) error {
	if replicas < 1 || replicas > 2 {
		return fmt.Errorf("a master has 1 or 2 replicas, not %d", replicas)
	}
	fmt.Printf("seed %d\n\n", seed)
	fmt.Println("| appendfsync | servers killed | moves ordered | failovers ordered | acknowledged | lost | longest until a client's next write, ms |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	for _, policy := range policies {
		dir, err := os.MkdirTemp("", "vigil-crash")
		if err != nil {
			return err
		}
		c := &cluster{binary: binary, policy: policy, dir: dir, members: replicas + 1, r: rand.New(rand.NewPCG(seed, 0))}
		if err := c.run(kills); err != nil {
			return fmt.Errorf("%s: %s: %w", dir, policy, err)
		}
		acked, longest := 0, time.Duration(0)
		for _, w := range c.writers {
			longest = max(longest, w.longest)
			for _, k := range w.keys {
				acked += k.acked
			}
		}
		fmt.Printf("| %s | %d | %d | %d | %d | 0 | %d |\n", policy, c.kills, c.orders, c.failovers, acked, longest.Milliseconds())
		os.RemoveAll(dir)
	}
	return nil
}

// run forms the cluster and loads it.
func (c *cluster) run(kills int) error {
	defer c.killAll()
	if err := c.form(); err != nil {
		return fmt.Errorf("the cluster does not form: %w", err)
	}
	return c.load(kills)
}

// load lets clients write, and kills servers until enough of them were killed. A write that is lost is an error.
func (c *cluster) load(kills int) error {
	var writing sync.WaitGroup
	failed := make(chan error, 1)
	for k := range 6 {
		w := newSlotWriter(c, k)
		c.writers = append(c.writers, w)
		writing.Go(func() {
			if err := w.run(); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	var err error
	for c.kills < kills && err == nil {
		if err = c.round(); err == nil {
			err = c.goesOn(failed)
		}
	}
	c.stop.Store(true)
	writing.Wait()
	select {
	case lost := <-failed:
		err = cmp.Or(err, lost)
	default:
	}
	if err != nil {
		return err
	}
	if err := c.settled(); err != nil {
		return err
	}
	return c.check()
}

// round moves slots and makes a replica take over, kills servers, at most one of each group, and starts them again.
func (c *cluster) round() error {
	if c.r.IntN(2) == 0 {
		group := c.nodes[c.r.IntN(clusterGroups)*c.members]
		if got, err := c.ask(c.r.IntN(len(c.nodes)), "VIGIL.CLUSTER", "REBALANCE", "WEIGHT", group.id, []string{"0", "1", "2", "4"}[c.r.IntN(4)]); err == nil && !strings.HasPrefix(got, "-") {
			c.orders++
		}
	}
	time.Sleep(time.Duration(c.r.IntN(400)) * time.Millisecond)
	if got, err := c.ask(c.r.IntN(len(c.nodes)), "CLUSTER", "FAILOVER"); err == nil && got == "OK" {
		c.failovers++
	}
	time.Sleep(time.Duration(c.r.IntN(30)) * time.Millisecond)
	var dead []int
	for _, group := range c.r.Perm(clusterGroups)[:1+c.r.IntN(clusterGroups)] {
		dead = append(dead, group*c.members+c.r.IntN(c.members))
		c.kill(dead[len(dead)-1])
		c.kills++
	}
	time.Sleep(time.Duration(c.r.IntN(1500)) * time.Millisecond)
	for _, i := range dead {
		if err := c.start(i); err != nil {
			return err
		}
	}
	for _, i := range dead {
		if err := c.until(fmt.Sprintf("the server at port %d catches up", c.nodes[i].port), func() error { return c.caughtUp(i) }); err != nil {
			return err
		}
	}
	return nil
}

// goesOn waits until another write of each client is acknowledged.
func (c *cluster) goesOn(failed chan error) error {
	begun := time.Now().UnixNano()
	return c.until("all clients go on", func() error {
		select {
		case err := <-failed:
			return fatal{err}
		default:
		}
		for _, w := range c.writers {
			if w.last.Load() < begun {
				return fmt.Errorf("client %s waits", w.name)
			}
		}
		return nil
	})
}

// form makes a cluster of empty servers, as redis-cli --cluster create does.
func (c *cluster) form() error {
	g := group{}
	for len(c.nodes) < clusterGroups*c.members {
		if err := g.choosePorts(c.r); err != nil {
			return err
		}
		for _, port := range g.ports[:c.members] {
			c.nodes = append(c.nodes, &clusterNode{port: port})
			if err := c.start(len(c.nodes) - 1); err != nil {
				return err
			}
		}
	}
	for i := range c.nodes {
		group, member := i/c.members, i%c.members
		if member == 0 {
			from, to := group*commands.Slots/clusterGroups, (group+1)*commands.Slots/clusterGroups-1
			if err := c.insist(i, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
				return err
			}
		}
		if i > 0 {
			if err := c.insist(i, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.nodes[0].port)); err != nil {
				return err
			}
		}
	}
	if err := c.until("the cluster is whole", c.whole); err != nil {
		return err
	}
	for i, n := range c.nodes {
		id, err := c.ask(i-i%c.members, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if n.id = id; i%c.members > 0 {
			if err := c.insist(i, "CLUSTER", "REPLICATE", id); err != nil {
				return err
			}
		}
	}
	return c.until("all servers have their places", func() error {
		for i := range c.nodes {
			if err := c.caughtUp(i); err != nil {
				return err
			}
			// Three vote, or one. Before they do one is the majority, whose end may cost what it has acknowledged.
			if got, err := c.ask(i, "VIGIL.CLUSTER", "STATUS"); err != nil || !strings.Contains(got, fmt.Sprintf(" voters %d ", (c.members-1)|1)) {
				return cmp.Or(err, errors.New(got))
			}
		}
		return c.whole()
	})
}

func (c *cluster) start(i int) (err error) {
	n := c.nodes[i]
	n.up, err = startMember(c.binary, c.policy, filepath.Join(c.dir, strconv.Itoa(n.port)), n.port, "--cluster-enabled", "yes")
	return err
}

func (c *cluster) kill(i int) {
	end(c.nodes[i].up)
	c.nodes[i].up = nil
}

func (c *cluster) killAll() {
	for i, n := range c.nodes {
		if n.up != nil {
			c.kill(i)
		}
	}
}

// ask calls a server once.
func (c *cluster) ask(i int, args ...string) (string, error) {
	conn, err := dialPort(c.nodes[i].port)
	if err != nil {
		return "", err
	}
	defer conn.nc.Close()
	return conn.do(args...)
}

// insist calls a server until it says OK.
func (c *cluster) insist(i int, args ...string) error {
	return c.until(strings.Join(args, " "), func() error {
		got, err := c.ask(i, args...)
		if err == nil && got != "OK" {
			err = errors.New(got)
		}
		return err
	})
}

// fatal is an error after which nothing is tried again.
type fatal struct{ error }

// until tries something until it does not fail any more.
func (c *cluster) until(what string, try func() error) (err error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = try(); err == nil || errors.As(err, new(fatal)) {
			return err
		}
	}
	return fmt.Errorf("%s: not in time: %w", what, err)
}

// whole returns an error unless all servers know each other and say that all slots are served.
func (c *cluster) whole() error {
	for i, n := range c.nodes {
		info, err := c.ask(i, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		for _, line := range []string{"cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", commands.Slots), fmt.Sprintf("cluster_known_nodes:%d", len(c.nodes))} {
			if !strings.Contains(info, line+"\r\n") {
				return fmt.Errorf("CLUSTER INFO at port %d is without %s: %s", n.port, line, info)
			}
		}
	}
	return nil
}

// caughtUp returns an error unless a server leads its group, or has all that is committed there.
func (c *cluster) caughtUp(i int) error {
	info, err := c.ask(i, "INFO", "replication")
	if err == nil && !strings.Contains(info, "role:master") && !follows(info) {
		err = errors.New(info)
	}
	return err
}
