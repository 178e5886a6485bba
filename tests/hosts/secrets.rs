//! A secrets bundle, its use in a cluster, and the renewal of certificates.

use nodeinit_tests::Host;

pub(crate) fn a_cluster_from_a_secrets_bundle() {
    let host = Host::with_images();
    host.must("cd /etc/nodeinit && nodeinit secrets generate && [ $(stat -c %a secrets.yaml) = 600 ]");
    host.nodeinit("secrets generate --file /etc/nodeinit/secrets.yaml").exits(1).says(&["already exists"]);
    host.must("sed -i 's/^bootstrapTokens: .*/bootstrapTokens: [abcdef.0123456789abcdef]/' /etc/nodeinit/secrets.yaml");
    host.must("chmod 640 /etc/nodeinit/secrets.yaml");
    host.nodeinit("up").exits(78).says(&["can be read by others (mode 640)", "chmod 600"]);
    host.must("chmod 600 /etc/nodeinit/secrets.yaml");
    host.up();
    its_keys_are_the_clusters(&host);
    secrets_are_encrypted(&host);
    the_kubelet_shows_a_certificate_of_the_cluster(&host);
    the_kubelet_renews_its_client_certificate(&host);
    certificates_are_renewed(&host);
    tokens_come_and_go(&host);
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    another_bundle_is_refused(&host);
}

fn its_keys_are_the_clusters(host: &Host) {
    let inspected = host.must("nodeinit secrets inspect --file /etc/nodeinit/secrets.yaml");
    let pin = host.must(
        "openssl x509 -in /etc/kubernetes/pki/ca.crt -noout -pubkey | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1",
    );
    assert!(inspected.contains(&format!("pin sha256:{}", pin.trim())), "{inspected} without {pin}");
    let tokens = host.must("nodeinit token list");
    let id = tokens.split(' ').next().unwrap_or_default();
    assert!(id.len() == 6 && inspected.contains(&format!("id {id}")), "{tokens} of {inspected}");
    assert!(!inspected.contains("PRIVATE"), "{inspected}");
}

fn secrets_are_encrypted(host: &Host) {
    let _ = host.kubectl("create secret generic hidden --from-literal=a=a-value-to-look-for");
    assert_eq!(host.kubectl("get secret hidden -o jsonpath='{.data.a}' | base64 -d"), "a-value-to-look-for");
    host.must("cd /var/lib/etcd/member && grep -aqr k8s:enc:secretbox . && ! grep -aqr a-value-to-look-for .");
}

fn the_kubelet_shows_a_certificate_of_the_cluster(host: &Host) {
    let address = host.address();
    host.must(&format!(
        "openssl s_client -connect {address}:10250 -verify_ip {address} -CAfile /etc/kubernetes/pki/ca.crt -verify_return_error </dev/null"
    ));
    let requests = host.kubectl("get csr --no-headers 2>/dev/null");
    assert_eq!(requests, "", "a master's kubelet asks for no certificate");
}

/// With a certificate that expires in four minutes, the kubelet requests another, and moves nodeinit's link to it.
fn the_kubelet_renews_its_client_certificate(host: &Host) {
    let name = host.name();
    host.put(
        "/root/ca.cnf",
        "[ca]\ndefault_ca=d\n[d]\ndatabase=/root/index\nserial=/root/serial\nnew_certs_dir=/root\ndefault_md=sha256\npolicy=p\n\
         [p]\nO=supplied\nCN=supplied\n[e]\nextendedKeyUsage=clientAuth\nkeyUsage=digitalSignature\n",
    );
    host.must(&format!(
        r#"set -e; cd /root; : >index; echo 1000 >serial; pki=/etc/kubernetes/pki current=/var/lib/kubelet/pki/kubelet-client-current.pem
        openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out old.key
        openssl req -new -key old.key -subj /O=system:nodes/CN=system:node:{name} -out old.csr
        openssl ca -batch -config ca.cnf -extensions e -cert $pki/ca.crt -keyfile $pki/ca.key -notext -in old.csr -out old.crt \
            -startdate $(date -u -d -99min +%Y%m%d%H%M%SZ) -enddate $(date -u -d +4min +%Y%m%d%H%M%SZ)
        readlink -f $current >before; cat old.crt old.key >$current; systemctl restart kubelet"#
    ));
    host.until(
        "another client certificate of the kubelet",
        60.0,
        r#"new=$(readlink -f /var/lib/kubelet/pki/kubelet-client-current.pem); [ -e "$new" ] && [ "$new" != "$(cat /root/before)" ]"#,
    );
    host.must("nodeinit certs check | grep -E '^kubelet-client .* 36[45]  kubernetes'");
}

fn certificates_are_renewed(host: &Host) {
    let end =
        |file: &str| host.must(&format!("openssl x509 -in /etc/kubernetes/pki/{file} -noout -enddate -serial -pubkey"));
    let (before, ca) = (end("apiserver.crt"), host.ca());
    host.nodeinit("certs renew")
        .exits(0)
        .says(&["/etc/kubernetes/admin.conf is valid until", "to use the new certificates"]);
    let after = end("apiserver.crt");
    assert_ne!(before, after);
    assert_eq!(before.split("-----").nth(2), after.split("-----").nth(2), "the key stays");
    assert_eq!(ca, host.ca());
    host.must("kubeadm certs check-expiration 2>&1 | grep -c 364d | grep -qx 11");
    assert_eq!(host.kubectl("get --raw /readyz"), "ok");
}

fn tokens_come_and_go(host: &Host) {
    let token = host.must("nodeinit token create --ttl 1h --description test");
    let (id, secret) = token.trim().split_once('.').unwrap();
    let list = host.must("nodeinit token list --output json");
    assert!(list.contains(id) && !list.contains(secret), "{list}");
    host.nodeinit(&format!("token delete {id}")).exits(0);
    host.nodeinit(&format!("token delete {id}")).exits(1).says(&["there is no bootstrap token"]);
}

fn another_bundle_is_refused(host: &Host) {
    host.must("cd /etc/nodeinit && mv secrets.yaml former.yaml && nodeinit secrets generate");
    let refused = host.nodeinit("up").exits(1);
    refused
        .says(&["ca.crt: differs from the CA in /etc/nodeinit/secrets.yaml", "sa.key: differs from serviceAccountKey"]);
    host.must("cd /etc/nodeinit && mv former.yaml secrets.yaml");
    host.up().says(&["nothing to do"]);
}
