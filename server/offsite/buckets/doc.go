// Package buckets tests backups with the real server and a server of S3 that runs in the test, whose links are cut, which is full, slow, or
// refuses the credentials. It is a module of its own, so that users do not get what it needs.
package buckets
