package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestProgramKeepsItsData runs the program twice on one directory.
func TestProgramKeepsItsData(t *testing.T) {
	dir := t.TempDir()
	for i := 1; i <= 2; i++ {
		ctx, stop := context.WithCancel(t.Context())
		ready, ended := make(chan net.Addr, 1), make(chan error, 1)
		go func() { ended <- run(ctx, dir, "localhost:0", func(a net.Addr) { ready <- a }) }()
		var addr net.Addr
		select {
		case addr = <-ready:
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(20 * time.Second):
			t.Fatal("it does not start")
		}
		nc, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(nc, "GET starts\r\n")
		r := bufio.NewReader(nc)
		for _, want := range []string{"$1\r\n", fmt.Sprint(i, "\r\n")} {
			if got, err := r.ReadString('\n'); got != want || err != nil {
				t.Errorf("start %d: got %q (%v), want %q", i, got, err, want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("start %d: %v", i, err)
		}
		nc.Close()
	}
}
