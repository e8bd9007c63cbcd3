// Package cluster has the commands of cluster mode as a server without cluster mode
// has them: client libraries send them to find out, and expect the error of Redis.
package cluster
