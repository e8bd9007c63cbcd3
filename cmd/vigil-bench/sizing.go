package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// part is what a session consists of. Its commands name the session as %, and have
// ~ for 300 letters that no other session has, so that nothing is compressed that
// would not be elsewhere.
type part struct {
	name     string
	n        int // sessions to measure it with; 0 for a tenth of all
	commands []string
	ours     bool // redis-server does not have these commands
}

const pages = "/ /about /added/tv-% /added/tv-mount-% /cart /confirm /featured/1-% /featured/2-% /search-% /sessions"

// minuteOfToday stands for an epoch that is at most a day old, minuteOf2026 for that
// of the demo of the paper, 2018-04-01.
const (
	minuteOfToday = 1439
	minuteOf2026  = 4_548_000
)

var parts = []part{
	{name: "session, a string of 300 bytes", commands: []string{"SET session:% ~ EX 86400"}},
	{name: "Bloom filter, 10 pages", commands: []string{"BF.MADD page-bloom:% " + pages, "EXPIRE page-bloom:% 86400"}},
	{name: "Bloom filter, 3 notifications", commands: []string{"BF.MADD notification:% a-% b c", "EXPIRE notification:% 86400"}},
	{name: "HyperLogLog, 10 pages", commands: []string{"PFADD sess-page-hll:% " + pages, "EXPIRE sess-page-hll:% 86400"}},
	{name: "counter", commands: []string{"SET total-pages:% 12 EX 86400"}},
	{name: "bits, epoch today", commands: []string{"SETBIT activity:% " + strconv.Itoa(minuteOfToday) + " 1", "EXPIRE activity:% 86400"}},
	{name: "hash of a user, 2 fields with an expiry", commands: []string{"HSET sessions:% 5f2a9c1e7b44d0a8 phone % desktop",
		"HEXPIRE sessions:% 86400 FIELDS 2 5f2a9c1e7b44d0a8 %"}},
	{name: "bits, epoch 2018-04-01", n: 200, commands: []string{"SETBIT activity:% " + strconv.Itoa(minuteOf2026) + " 1", "EXPIRE activity:% 86400"}},
}

// hashes are sessions of other applications, with the same fields each.
var hashes = []part{
	{name: "session, a hash of 5 fields, short names", commands: []string{"HSET session:abcdefghijklmnop:% " +
		"user 12345678 ip 192.168.100.2 agent Mozilla/5.0-(X11;-Linux-x86_6 created 1700000000 pages 123"}},
	{name: "the same, long names", commands: []string{"HSET session:abcdefghijklmnop:% " +
		"userid 12345678 address 192.168.100.2 useragent Mozilla/5.0-(X11;-Linux-x86_6 created_at 1700000000 page_count 123"}},
}

// whole is a session with all parts but the last.
func whole(n int) part {
	p := part{name: "all of it but the line before", n: n}
	for _, each := range parts[:len(parts)-1] {
		p.commands = append(p.commands, each.commands...)
	}
	return p
}

// sizing measures what sessions take in memory and on disk.
func sizing(o *options, r *report) error {
	r.section("Size", fmt.Sprintf("Bytes a session, by `make sizing SESSIONS=%d`: so many sessions with all their parts, the parts alone with a tenth of them. "+
		"Memory is the growth of used_memory, of the whole also that of the process; the disk is what the directory holds after a "+
		"BGREWRITEAOF and a stop. Redis 7.0 has no Bloom filters, and no expiry of fields.", o.sessions))
	r.row("part", "sessions", "memory", "process", "on disk", o.peerName()+", memory")
	r.rule(6)
	for _, p := range slices.Concat(parts, []part{whole(o.sessions)}, hashes) {
		if p.n == 0 {
			p.n = o.sessions / 10
		}
		if err := sizeOf(o, r, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	r.text("A bitmap is as long as its last bit is far from the epoch, in Redis as here: choose an epoch that is near, as `--epoch` of " +
		"vigil-session allows, before the bits outweigh everything else. " + tightMemory)
	return tight(o, r)
}

const tightMemory = "The same sessions with less memory than they want; `maxmemory` moves what is cold to the disk:"

// tightLimit leaves a session a quarter of the memory that it wants, and the server
// enough to work with.
func tightLimit(sessions int) int { return max(64<<20, sessions*512) }

// tight measures the process that has less memory than its sessions want.
func tight(o *options, r *report) error {
	limit := tightLimit(o.sessions)
	return alone(o, []string{"--maxmemory", strconv.Itoa(limit)}, func(p *process, _ string) error {
		if err := write(p, whole(o.sessions)); err != nil {
			return err
		}
		used, err := usedMemory(p)
		if err != nil {
			return err
		}
		r.b.WriteString("\n")
		r.row("sessions", "maxmemory, MB", "used_memory, MB", "process, MB")
		r.rule(4)
		r.row(strconv.Itoa(o.sessions), strconv.Itoa(limit>>20), strconv.FormatInt(used>>20, 10), strconv.FormatInt(p.rss()>>20, 10))
		return nil
	})
}

func sizeOf(o *options, r *report, s part) error {
	var row []string
	err := alone(o, nil, func(p *process, dir string) error {
		before, rss, err := measured(p)
		if err != nil {
			return err
		}
		if err := write(p, s); err != nil {
			return err
		}
		after, grown, err := measured(p)
		if err != nil {
			return err
		}
		inProcess := "-" // a small part drowns in the noise of buffers
		if s.n == o.sessions {
			inProcess = perSession(grown-rss, s.n)
		}
		if err := store(p); err != nil {
			return err
		}
		p.stop()
		row = []string{s.name, strconv.Itoa(s.n), perSession(after-before, s.n), inProcess, perSession(size(dir), s.n)}
		return p.start() // alone stops it
	})
	if err != nil {
		return err
	}
	redis, err := redisMemory(o, s)
	if err != nil {
		return err
	}
	r.row(append(row, redis)...)
	return nil
}

func perSession(bytes int64, n int) string { return strconv.FormatInt(bytes/int64(n), 10) }

// alone runs f with one fresh server of ours.
func alone(o *options, args []string, f func(p *process, dir string) error) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &process{name: "vigil", port: freePort()}
	p.args = append([]string{o.binary, "--port", strconv.Itoa(p.port), "--dir", dir}, args...)
	if err := p.start(); err != nil {
		return err
	}
	defer p.stop()
	return f(p, dir)
}

// redisMemory is what a redis-server uses for the part, if it has the commands.
func redisMemory(o *options, s part) (string, error) {
	for _, c := range s.commands {
		if strings.HasPrefix(c, "BF.") || strings.HasPrefix(c, "HEXPIRE") {
			return "-", nil
		}
	}
	p := &process{name: o.peerName(), port: freePort()}
	p.args = []string{o.peer, "--port", strconv.Itoa(p.port), "--save", "", "--appendonly", "no"}
	if err := p.start(); err != nil {
		return "", err
	}
	defer p.stop()
	before, err := usedMemory(p)
	if err != nil {
		return "", err
	}
	if err := write(p, s); err != nil {
		return "", err
	}
	after, err := usedMemory(p)
	return perSession(after-before, s.n), err
}

// write sends the commands of n sessions, in pipelines.
func write(p *process, s part) error {
	c, err := dial(p.port)
	if err != nil {
		return err
	}
	defer c.Close()
	const batch = 200
	chance := rand.New(rand.NewPCG(1, 2))
	for first := 0; first < s.n; first += batch {
		last := min(first+batch, s.n)
		var b []byte
		lines := 0
		for i := first; i < last; i++ {
			for _, command := range s.commands {
				command = strings.ReplaceAll(strings.ReplaceAll(command, "%", element(i)), "@", number(i))
				if before, after, ok := strings.Cut(command, "~"); ok {
					command = before + letters(chance, 300) + after
				}
				b = appendCommand(b, strings.Fields(command))
				lines++
			}
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		if err := c.replies(lines); err != nil {
			return err
		}
	}
	return nil
}

// element is 16 characters that no other number has. They are in no order.
func element(i int) string { return fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15) }

// number is a number below 2^40 that no other one of less than 2^40 has: the factor is
// odd. They are in no order.
func number(i int) string { return fmt.Sprint(uint64(i) * 0x9e3779b97f4a7c15 & (1<<40 - 1)) }

// appendCommand appends a command as a client sends it.
func appendCommand(b []byte, words []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// letters are n letters as base64 has them.
func letters(chance *rand.Rand, n int) string {
	const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	b := make([]byte, n)
	for i := range b {
		b[i] = all[chance.IntN(len(all))]
	}
	return string(b)
}

// replies reads n replies, arrays of one level among them, and returns the first error.
func (c *conn) replies(n int) error {
	for n > 0 {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return err
		}
		switch line[0] {
		case '-':
			return fmt.Errorf("the server said %s", strings.TrimSpace(line))
		case '$':
			m, err := strconv.Atoi(strings.TrimSpace(line[1:]))
			if err != nil {
				return err
			}
			if m >= 0 {
				if _, err := c.r.Discard(m + len("\r\n")); err != nil {
					return err
				}
			}
		case '*':
			m, err := strconv.Atoi(strings.TrimSpace(line[1:]))
			if err != nil {
				return err
			}
			n += m
		}
		n--
	}
	return nil
}

func measured(p *process) (used, rss int64, err error) {
	used, err = usedMemory(p)
	return used, p.rss(), err
}

func usedMemory(p *process) (int64, error) {
	n, err := infoOf(p, "memory", "used_memory")
	return int64(n), err
}

// infoOf asks over a connection of its own.
func infoOf(p *process, section, name string) (int, error) {
	c, err := dial(p.port)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.info(section, name)
}
