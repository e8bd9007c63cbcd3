// Command failover counts upwards through go-redis's failover client. See
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
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: os.Args[1:],
		DialTimeout: time.Second, ReadTimeout: time.Second})
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

func count(client *redis.Client, k int, printing *sync.Mutex) {
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
