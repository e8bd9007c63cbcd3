package servertest_test

import (
	"bufio"
	"fmt"
	"log"
	"time"

	"github.com/vigildb/vigil/server/servertest"
)

// In a test, servertest.Run(t) takes the place of Start and Close.
func Example() {
	vigil, err := servertest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer vigil.Close()
	conn, err := vigil.Dial() // or any client of Redis, at vigil.Addr()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(conn, "SET session:robin active EX 1800\r\n")
	reply, err := bufio.NewReader(conn).ReadString('\n')
	fmt.Printf("%q %v\n", reply, err)
	vigil.CheckGet("session:robin", "active")
	fmt.Println(vigil.TTL("session:robin"))
	// Output:
	// "+OK\r\n" <nil>
	// 30m0s
}

func ExampleServer_FastForward() {
	vigil, err := servertest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer vigil.Close()
	vigil.Set("lock", "robin")
	vigil.SetTTL("lock", 10*time.Second)
	for range 2 {
		vigil.FastForward(6 * time.Second)
		fmt.Println(vigil.Exists("lock"), vigil.TTL("lock"))
	}
	// Output:
	// true 4s
	// false 0s
}

func ExampleServer_Do() {
	vigil, err := servertest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer vigil.Close()
	vigil.Push("queue", "a", "b", "c")
	fmt.Println(vigil.Do("LPOP", "queue", "2"))
	fmt.Println(vigil.Do("INCR", "queue"))
	// Output:
	// [a b] <nil>
	// <nil> WRONGTYPE Operation against a key holding the wrong kind of value
}
