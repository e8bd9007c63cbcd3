package pkcs8

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/youmark/pkcs8"

	"github.com/vigildb/vigil/server/certs"
)

func TestImportingItLetsCertsReadEncryptedKeys(t *testing.T) {
	want, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := pkcs8.MarshalPrivateKey(want, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := certs.DecryptPKCS8(der, []byte("secret"))
	if key, _ := got.(*ecdsa.PrivateKey); err != nil || !want.Equal(key) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := certs.DecryptPKCS8(der, []byte("wrong")); err == nil {
		t.Error("a wrong passphrase opens the key")
	}
}
