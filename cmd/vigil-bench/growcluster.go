package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
)

// shards is a Redis Cluster of groups, made by Redis's own commands.
type shards struct {
	servers
	o       *options
	dir     string
	masters []*process // the first server of each group
	calls   *router
}

// formPatience is how long a cluster may take to agree on something.
const formPatience = time.Minute

// add starts groups of empty servers and introduces them to the others. slotted says that they divide the slots.
func (s *shards) add(groups int, slotted bool) error {
	first := len(s.masters)
	for range groups {
		for member := range s.o.growMembers {
			p, err := s.start()
			if err != nil {
				return err
			}
			if member == 0 {
				s.masters = append(s.masters, p)
			}
		}
	}
	if slotted {
		for i, p := range s.masters {
			from, to := i*commands.Slots/groups, (i+1)*commands.Slots/groups-1
			if err := s.insist(p, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
				return err
			}
		}
	}
	for _, p := range s.servers[first*s.o.growMembers:] {
		if p != s.servers[0] {
			if err := s.insist(p, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.servers[0].port)); err != nil {
				return err
			}
		}
	}
	if err := s.agree(); err != nil {
		return err
	}
	for i, p := range s.servers[first*s.o.growMembers:] {
		if master := s.masters[first+i/s.o.growMembers]; p != master {
			id, err := s.calls.at(master.port, "CLUSTER", "MYID")
			if err != nil {
				return err
			}
			if err := s.insist(p, "CLUSTER", "REPLICATE", fmt.Sprint(id)); err != nil {
				return err
			}
		}
	}
	return s.agree()
}

// start starts a server with an empty directory, and waits until it replies.
func (s *shards) start() (*process, error) {
	p, err := s.launch()
	if err != nil {
		return nil, err
	}
	return p, p.ready()
}

// launch does not wait; more are arguments besides those that all servers have.
func (s *shards) launch(more ...string) (*process, error) {
	port := freePorts(1)[0]
	dir := filepath.Join(s.dir, strconv.Itoa(port))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &process{name: "vigil", port: port, args: []string{s.o.binary, "--port", strconv.Itoa(port), "--dir", dir, "--appendfsync", s.o.fsync, "--save", "",
		"--cluster-enabled", "yes", "--cluster-secret", "a secret of vigil-bench",
		// A stall of a machine that other programs use is to be measured, not to end the run.
		"--cluster-election-timeout", "5000"}}
	p.args = append(p.args, more...)
	if err := p.launch(); err != nil {
		return nil, err
	}
	s.servers = append(s.servers, p)
	return p, nil
}

func (s *shards) stop() {
	s.calls.close()
	s.servers.stop()
}

// insist calls a server until it says OK: one that has just started may not lead its group yet.
func (s *shards) insist(p *process, args ...string) (err error) {
	for end := time.Now().Add(formPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err = s.calls.at(p.port, args...); err == nil {
			return nil
		}
	}
	return p.explained(fmt.Errorf("%s: %w", strings.Join(args, " "), err))
}

// agree waits until the cluster is whole.
func (s *shards) agree() (err error) {
	for end := time.Now().Add(formPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = s.whole(); err == nil {
			return nil
		}
	}
	return err
}

// whole returns an error unless all servers know each other, say that all slots are served, and name the same owners.
func (s *shards) whole() error {
	want, err := s.owners(s.servers[0])
	if err != nil {
		return err
	}
	for _, p := range s.servers {
		info, err := s.calls.at(p.port, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		for _, line := range []string{"cluster_state:ok", fmt.Sprintf("cluster_slots_assigned:%d", commands.Slots), fmt.Sprintf("cluster_known_nodes:%d", len(s.servers))} {
			if !strings.Contains(fmt.Sprint(info), line+"\r\n") {
				return fmt.Errorf("CLUSTER INFO at %d is without %s:\n%s", p.port, line, info)
			}
		}
		if got, err := s.owners(p); err != nil || *got != *want {
			return errors.Join(fmt.Errorf("CLUSTER SLOTS at %d and at %d differ", p.port, s.servers[0].port), err)
		}
	}
	return nil
}

// owners returns the ports of the masters of all slots, as a server says.
func (s *shards) owners(p *process) (*[commands.Slots]int, error) {
	v, err := s.calls.at(p.port, "CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	return ownersIn(v)
}

// ownersIn returns the same from a reply to CLUSTER SLOTS. It is an error if a slot has two masters, or none.
func ownersIn(reply any) (*[commands.Slots]int, error) {
	all, ranges := new([commands.Slots]int), reply.([]any)
	for _, v := range ranges {
		r := v.([]any)
		port := int(r[2].([]any)[1].(int64))
		for slot := r[0].(int64); slot <= r[1].(int64); slot++ {
			if all[slot] != 0 {
				return nil, fmt.Errorf("slot %d has two masters, %d and %d", slot, all[slot], port)
			}
			all[slot] = port
		}
	}
	for slot, port := range all {
		if port == 0 {
			return nil, fmt.Errorf("slot %d has no master", slot)
		}
	}
	return all, nil
}

// size is the sum of DBSIZE at all masters.
func (s *shards) size() (keys int, err error) {
	for _, p := range s.masters {
		n, err := s.calls.at(p.port, "DBSIZE")
		if err != nil {
			return 0, err
		}
		keys += int(n.(int64))
	}
	return keys, nil
}

// pairsOf returns a reply of names and values as a map.
func pairsOf(reply any) map[string]any {
	m, all := map[string]any{}, reply.([]any)
	for i := 0; i+1 < len(all); i += 2 {
		m[all[i].(string)] = all[i+1]
	}
	return m
}

// sent is what the masters say of their moves.
type sent struct {
	keys, bytes, pause int64 // the longest pause, in ms
	open               int   // moves that are not over
	messages           []string
}

// moves asks all masters for their moves of slots.
func (s *shards) moves() (all sent, err error) {
	for _, p := range s.masters {
		v, err := s.calls.at(p.port, "CLUSTER", "GETSLOTMIGRATIONS")
		if err != nil {
			return all, err
		}
		for _, v := range v.([]any) {
			m := pairsOf(v)
			all.keys += m["keys_sent"].(int64)
			all.bytes += m["bytes_sent"].(int64)
			all.pause = max(all.pause, m["longest_pause_ms"].(int64))
			if text := m["message"].(string); text != "" {
				all.messages = append(all.messages, fmt.Sprintf("%d: slots %v: %s", p.port, m["slot_ranges"], text))
			}
			switch m["state"] {
			case "success":
			case "failed", "cancelled", "canceled":
				return all, p.explained(fmt.Errorf("slots %v are not moved: %v", m["slot_ranges"], m["message"]))
			default:
				all.open++
			}
		}
	}
	return all, nil
}
