package server_test

import (
	"bufio"
	"context"
	"fmt"
	"log"

	"github.com/vigildb/vigil/server"
)

// A server inside the process, and a client that needs no socket.
func Example() {
	srv, err := server.Open(context.Background(), server.Options{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(context.Background())
	conn, err := srv.Dial()
	if err != nil {
		log.Fatal(err)
	}
	replies := bufio.NewScanner(conn)
	for _, command := range []string{"SET session:42 robin EX 1800", "INCR views", "TTL session:42"} {
		fmt.Fprintf(conn, "%s\r\n", command)
		replies.Scan()
		fmt.Println(command, "->", replies.Text())
	}
	// Output:
	// SET session:42 robin EX 1800 -> +OK
	// INCR views -> :1
	// TTL session:42 -> :1800
}
