// Command failover counts upwards through go-redis's failover client, or its cluster client. See
// cmd/vigil-crash/libraries.go.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable()
	var client redis.Cmdable
	if os.Getenv("VIEW") == "cluster" {
		// Of a master that does not reply the client asks the others only when what it knows of them is old: a
		// minute, by default.
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: os.Args[1:], DialTimeout: time.Second, ReadTimeout: time.Second,
			ClusterStateReloadInterval: time.Second})
	} else {
		client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: os.Args[1:],
			DialTimeout: time.Second, ReadTimeout: time.Second})
	}
	var printing sync.Mutex
	for k := range 4 {
		go count(client, k, &printing) // until the program ends
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	printing.Lock() // no line is cut in two
	if err != nil {
		log.Fatal(err)
	}
}

func count(client redis.Cmdable, k int, printing *sync.Mutex) {
	for n := 1; ; {
		if err := client.Set(context.Background(), "counter:"+strconv.Itoa(k), n, 0).Err(); err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		printing.Lock()
		fmt.Println(k, n)
		printing.Unlock()
		n++
	}
}
