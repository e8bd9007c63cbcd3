package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// badReplica is a connection that asks for the stream, and does what it likes then; small: its system takes little that is not read.
func badReplica(t *testing.T, p *process, small bool) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if small {
		nc.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	ok := make([]byte, len("+OK\r\n"))
	if _, err := io.WriteString(nc, "REPLCONF listening-port 7000 capa eof capa psync2\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, ok); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nc, "PSYNC ? -1\r\n"); err != nil {
		t.Fatal(err)
	}
	return nc
}

// Replicas that read nothing, confirm what was never sent, flood the server with calls or synchronizations, or cut the connection take a
// bounded memory, count as no copy, and hold no other client up.
func TestBadReplicasHarmNobody(t *testing.T) {
	t.Parallel()
	const data, written, bound, size = 24 << 20, 320 << 20, 240 << 20, 32 << 10
	p := launch(t, "--dir", t.TempDir(), "--repl-diskless-sync-delay", "0", "--client-output-buffer-limit", "replica 8mb 0 0", "--repl-timeout", "2",
		"--rdbcompression", "no") // what is sent is as large as the data
	c := dial(t, p)
	value := strings.Repeat("v", size)
	for i := range data / size {
		wantReply(t, c, fmt.Sprintf("SET key:%d %s", i, value), "OK")
	}
	before := p.status(t, "VmRSS")
	for range 3 {
		badReplica(t, p, true) // which reads nothing
	}
	for _, lie := range []string{"REPLCONF ACK 99999999999\r\n", "REPLCONF ACK -5\r\n", "REPLCONF ACK 9223372036854775807 FACK 9223372036854775807\r\n",
		strings.Repeat("REPLCONF ACK 1\r\n", 20_000), strings.Repeat("REPLCONF capa "+strings.Repeat("x", 1000)+"\r\n", 500), "PSYNC ? -1\r\nGET key:1\r\n"} {
		nc := badReplica(t, p, false)
		go io.Copy(io.Discard, nc) // it reads, until the server has enough of it
		go io.WriteString(nc, lie) // likewise
	}
	for i := range 100 { // which are gone at once, at any byte
		nc := badReplica(t, p, true)
		_ = nc.SetReadDeadline(time.Now().Add(time.Duration(i%7) * time.Millisecond))
		_, _ = io.CopyN(io.Discard, nc, int64(i*i))
		nc.Close()
	}
	slowest := time.Duration(0)
	for i := range written / size {
		begin := time.Now()
		wantReply(t, c, fmt.Sprintf("SET key:%d %s", i%(data/size), value), "OK")
		slowest = max(slowest, time.Since(begin))
	}
	if slowest > 3*time.Second {
		t.Errorf("a call took %v", slowest)
	}
	wantReply(t, c, "WAITAOF 0 3 50", "[0 0]") // nobody has what was just written
	// The windows of files, the stream up to the limit, and garbage, take about 130 MB together. Without a limit the stream alone takes
	// all that was written.
	if peak := p.status(t, "VmHWM"); peak > before+bound {
		t.Errorf("the process took %d MB, %d MB before, want at most %d MB more", peak>>20, before>>20, bound>>20)
	}
	if !strings.Contains(p.out.String(), "closing replica") {
		t.Errorf("no replica was closed:\n%s", p.out)
	}
	// A good one is served all the same.
	good := badReplica(t, p, false)
	in := bufio.NewReader(good)
	for line := ""; !strings.HasPrefix(line, "+FULLRESYNC "); {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s", err, p.out)
		}
	}
	head, _ := in.ReadString('\n')
	for head == "\n" {
		head, _ = in.ReadString('\n')
	}
	if n, err := io.CopyN(io.Discard, in, data/2); !strings.HasPrefix(head, "$EOF:") || err != nil {
		t.Errorf("a replica that reads got %q and %d bytes: %v", head, n, err)
	}
}
