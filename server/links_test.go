package server

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// peerOf returns the arguments of MIGRATE that name an address.
func peerOf(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

// migrate makes a call of MIGRATE to an address.
func (c *testClient) migrate(addr string, args ...string) string {
	c.t.Helper()
	host, port := peerOf(addr)
	return c.do(append([]string{"MIGRATE", host, port}, args...)...)
}

// silentPeer accepts connections, and gives what it reads to take.
func silentPeer(t *testing.T, take func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}) // closed when it accepts no more
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go take(conn)
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

func TestMigrateMovesKeysOfEveryType(t *testing.T) {
	from, to := newRig(t), newRig(t)
	a, b, addr := from.dial(), to.dial(), to.loopback()
	makers := []string{
		"SET s value", "SETBIT bits 100 1", "RPUSH l a b c", "HSET h f v", "SADD n 1 2 3", "SADD w x y", "ZADD z 1 a 2 b",
		"XADD x 1-1 f v", "PFADD hll a b c", "BF.ADD bf a", "SCHED.CREATE sched", "PLACE.CREATE place",
	}
	for _, call := range makers {
		a.do(strings.Fields(call)...)
	}
	a.want("PEXPIRE h 100000", "(int) 1")
	for _, call := range makers {
		key := strings.Fields(call)[1]
		payload := a.do("DUMP", key)
		if got := a.migrate(addr, key, "3", "5000"); got != "OK" {
			t.Fatalf("%s: got %s", key, got)
		}
		a.want("EXISTS "+key, "(int) 0")
		b.want("SELECT 3", "OK")
		if got := b.do("DUMP", key); got != payload {
			t.Errorf("%s: got %s, want %s", key, got, payload)
		}
	}
	b.want("PTTL h", "(int) 100000")
	b.want("TTL s", "(int) -1")
}

// A hash whose fields expire is sent once more, as Valkey has it, to a peer that refuses Redis's form; what arrives then is removed here.
func TestMigrateSendsValkeyItsOwnForm(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("HSET h f v g w", "(int) 2")
	c.want("HPEXPIRE h 100000 FIELDS 1 f", "[(int) 1]")
	c.want("MSET s 1 n 2", "OK")
	var forms []byte
	addr := silentPeer(t, func(conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			n, err := readNode(in)
			if err != nil {
				return
			}
			reply := "+OK\r\n"
			if word := n.list[0].text; word == "RESTORE" {
				payload := n.list[3].text
				version := payload[len(payload)-10]
				if forms = append(forms, version); n.list[1].text == "n" || version == 12 {
					reply = "-ERR DUMP payload version or checksum are wrong\r\n"
				}
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
	if got := c.migrate(addr, "h", "0", "5000", "REPLACE"); got != "OK" {
		t.Fatal(got)
	}
	if string(forms) != "\x0c\x50" {
		t.Errorf("versions %v, want 12 and then 80", forms)
	}
	c.want("EXISTS h", "(int) 0")
	if got := c.migrate(addr, "", "0", "5000", "KEYS", "s", "n"); !strings.Contains(got, "DUMP payload version") {
		t.Error(got)
	}
	c.want("EXISTS s n", "(int) 1")
}

func TestMigrateKeepsWhatDoesNotArrive(t *testing.T) {
	from, to := newRig(t), newRig(t)
	a, b, addr := from.dial(), to.dial(), to.loopback()
	a.want("MSET a 1 b 2 c 3", "OK")
	b.want("SET b other", "OK")
	if got := a.migrate(addr, "", "0", "5000", "KEYS", "a", "nosuch", "b", "c"); !strings.Contains(got, "Target instance replied with error: BUSYKEY") {
		t.Errorf("got %s", got)
	}
	a.want("EXISTS a b c", "(int) 1")
	a.want("GET b", `"2"`)
	b.want("MGET a b c", `["1" "other" "3"]`)
	if got := a.migrate(addr, "b", "0", "5000", "COPY", "REPLACE"); got != "OK" {
		t.Errorf("got %s", got)
	}
	a.want("GET b", `"2"`)
	b.want("GET b", `"2"`)
	if got := a.migrate(addr, "b", "99", "5000", "REPLACE"); !strings.Contains(got, "DB index is out of range") {
		t.Errorf("got %s", got)
	}
	a.want("GET b", `"2"`)
}

// A connection is kept only for those that name the same user and password.
func TestMigrateLogsIn(t *testing.T) {
	from, to := newRig(t), newRig(t)
	a, b, addr := from.dial(), to.dial(), to.loopback()
	b.want("ACL SETUSER mover on >secret ~* +restore +select", "OK")
	b.want("CONFIG SET requirepass word", "OK")
	for _, c := range []struct{ login, want string }{
		{"AUTH word", "OK"}, {"", "NOAUTH"}, {"AUTH2 mover secret", "OK"}, {"AUTH wrong", "WRONGPASS"}, {"AUTH2 mover word", "WRONGPASS"},
		{"AUTH word", "OK"},
	} {
		a.want("SET k v", "OK")
		got := a.migrate(addr, append([]string{"k", "0", "5000", "REPLACE"}, strings.Fields(c.login)...)...)
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.login, got, c.want)
		}
		if gone := a.do("EXISTS", "k") == "(int) 0"; gone != (c.want == "OK") {
			t.Errorf("%q: removed: %v", c.login, gone)
		}
	}
	if !strings.Contains(a.do("INFO", "stats"), "migrate_cached_sockets:5") {
		t.Error("not one connection for each login")
	}
	from.clock.advance(linkIdle + 2*time.Second)
	if !strings.Contains(a.do("INFO", "stats"), "migrate_cached_sockets:0") {
		t.Error("connections are kept for longer than their time")
	}
}

// While a peer is silent other clients use the keys, and what they change stays.
func TestMigrateDelaysNobodyAndLosesNoChange(t *testing.T) {
	r := newRig(t)
	arrived, reply := make(chan struct{}), make(chan struct{}) // the request is there; it may be replied to
	addr := silentPeer(t, func(conn net.Conn) {
		read := bufio.NewReader(conn)
		for line := ""; !strings.Contains(line, "RESTORE"); line, _ = read.ReadString('\n') {
		}
		close(arrived)
		<-reply
		io.WriteString(conn, "+OK\r\n+OK\r\n+OK\r\n")
		io.Copy(io.Discard, conn)
	})
	mover, other := r.dial(), r.dial()
	other.want("MSET k old same v", "OK")
	host, port := peerOf(addr)
	mover.send("MIGRATE", host, port, "", "0", "60000", "KEYS", "k", "same")
	<-arrived
	other.want("SET k new", "OK")
	other.want("GET same", `"v"`)
	close(reply)
	if got := mover.reply(); !strings.Contains(got, "changed since") {
		t.Errorf("got %s", got)
	}
	other.want("GET k", `"new"`)
	other.want("EXISTS same", "(int) 0")
}

// Calls to silent peers are bounded and take no worker from computations.
func TestMigrateToSilentPeersIsBounded(t *testing.T) {
	r := newRig(t)
	reached := make(chan struct{}, maxLinksBusy)
	addr := silentPeer(t, func(conn net.Conn) {
		reached <- struct{}{}
		io.Copy(io.Discard, conn)
	})
	host, port := peerOf(addr)
	c := r.dial()
	c.want("SET k v", "OK")
	var movers []*testClient
	for range maxLinksBusy {
		m := r.dial()
		m.send("MIGRATE", host, port, "k", "0", "600000")
		<-reached
		movers = append(movers, m)
	}
	if got := c.migrate(addr, "k", "0", "600000"); !strings.Contains(got, "too many calls of MIGRATE") {
		t.Errorf("got %s", got)
	}
	c.want("SCHED.CREATE s", "OK")
	c.want("SCHED.ADD s a RATE 1 b RATE 2", "(int) 2")
	if got := c.do("SCHED.SIMULATE", "s", "STEPS", "10"); strings.Contains(got, "error") {
		t.Errorf("SCHED.SIMULATE: %s", got)
	}
	c.want("CLIENT UNBLOCK "+movers[0].ownID(c), "(int) 1")
	for _, m := range movers[1:] {
		m.nc.Close() // ends its call
	}
	c.want("GET k", `"v"`)
}

// ownID is the number of a client that waits, as another one sees it: the oldest that does.
func (c *testClient) ownID(other *testClient) string {
	for _, line := range strings.Split(other.do("CLIENT", "LIST"), `\n`) {
		if strings.Contains(line, "cmd=migrate") {
			id, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(line, `"`), "id="), " ")
			return id
		}
	}
	c.t.Fatal("no client waits for MIGRATE")
	return ""
}

func TestMigrateTimesOutAndTrustsNoStranger(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	silent := silentPeer(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	web := silentPeer(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n\r\n")
		io.Copy(io.Discard, conn)
	})
	endless := silentPeer(t, func(conn net.Conn) {
		for err := error(nil); err == nil; {
			_, err = io.WriteString(conn, strings.Repeat("+OK", 1000))
		}
	})
	for _, addr := range []string{silent, web, endless} {
		if got := c.migrate(addr, "k", "0", "50"); got != "(error) IOERR error or timeout reading to target instance" {
			t.Errorf("got %s", got)
		}
		c.want("GET k", `"v"`)
	}
	c.want("MULTI", "OK")
	if got := c.migrate(silent, "k", "0", "50"); !strings.Contains(got, "not allowed inside a transaction") {
		t.Errorf("in MULTI: got %s", got)
	}
}

// A connection that the peer has closed meanwhile is replaced.
func TestMigrateReplacesAClosedConnection(t *testing.T) {
	from, to := newRig(t), newRig(t)
	a, b, addr := from.dial(), to.dial(), to.loopback()
	for range 3 {
		a.want("SET k v", "OK")
		if got := a.migrate(addr, "k", "0", "5000", "REPLACE"); got != "OK" {
			t.Fatalf("got %s", got)
		}
		b.want("CLIENT KILL TYPE normal", "(int) 1")
	}
}
