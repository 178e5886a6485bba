#compdef provisioner

autoload -U is-at-least

_provisioner() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_provisioner_commands" \
"*::: :->provisioner" \
&& ret=0
    case $state in
    (provisioner)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
'--file=[The file to write]:FILE:_files' \
'--name=[The cluster'\''s name]:NAME:_default' \
'--image=[The image of the machines, by name or ID]:IMAGE:_default' \
'--flavor=[The flavor of the machines, by name or ID]:FLAVOR:_default' \
'--access=[The address range that may use SSH and the API, such as 192.0.2.0/24]:CIDR:_default' \
'--masters=[Number of masters]:MASTERS:_default' \
'--workers=[Number of workers]:WORKERS:_default' \
'--force[Replace the file if it exists]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--resources-only[Manage the resources only, not the machines]' \
'--yes[Do not ask for confirmation]' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'--replace-balancer[Replace a load balancer in ERROR; clients cannot reach the API until the new one is ACTIVE]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--resources-only[Show the cloud'\''s resources only; contact no machine]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(timeline)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'-o+[The form of the timeline]:OUTPUT:((text\:"Plain text for a terminal"
svg\:"An SVG picture"
html\:"An HTML page with the picture and a table"
json\:"One JSON object with the run and its steps"))' \
'--output=[The form of the timeline]:OUTPUT:((text\:"Plain text for a terminal"
svg\:"An SVG picture"
html\:"An HTML page with the picture and a table"
json\:"One JSON object with the run and its steps"))' \
'--run=[Which run\: 1 is the latest that changed something, 2 the one before it]:N:_default' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(destroy)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--yes[Do not ask for confirmation]' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(userdata)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(bundle)
_arguments "${_arguments_options[@]}" : \
'--out=[Write the secrets to this file, mode 0600, instead of printing them]:FILE:_files' \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(master)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_provisioner__subcmd__master_commands" \
"*::: :->master" \
&& ret=0

    case $state in
    (master)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-master-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'--resources-only[Manage the resources only, not the machines]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'--resources-only[Manage the resources only, not the machines]' \
'--force[Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--yes[Do not ask for confirmation]' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_provisioner__subcmd__master__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-master-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(worker)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_provisioner__subcmd__worker_commands" \
"*::: :->worker" \
&& ret=0

    case $state in
    (worker)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-worker-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'--resources-only[Manage the resources only, not the machines]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'--resources-only[Manage the resources only, not the machines]' \
'--force[Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
'*--config=[Configuration file; may be repeated, later files override earlier ones]:FILE:_files' \
'(--config)--cluster=[Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml]:NAME:_default' \
'(--cluster)--secrets=[Secrets bundle; \`apply\` generates it for a new cluster]:FILE:_files' \
'-o+[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format\: text, or one JSON object per line]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--kubeconfig=[Where to write the administrator'\''s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster'\''s name; with --cluster, clusters/NAME.kubeconfig]:FILE:_files' \
'--yes[Do not ask for confirmation]' \
'--break-lock[Take over the cluster'\''s lock; use it only if the run that holds the lock is dead]' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The machine'\''s name in the configuration:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_provisioner__subcmd__worker__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-worker-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(version)
_arguments "${_arguments_options[@]}" : \
'-o+[Output format]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'--output=[Output format]:OUTPUT:((text\:"For a terminal or a log"
json\:"One JSON object a line"))' \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(completion)
_arguments "${_arguments_options[@]}" : \
'(-q --quiet)-v[Also write debug detail to standard error, such as each request to the cloud]' \
'(-q --quiet)--verbose[Also write debug detail to standard error, such as each request to the cloud]' \
'-q[Do not report progress\: print only results and failures]' \
'--quiet[Do not report progress\: print only results and failures]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_provisioner__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-help-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(timeline)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(destroy)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(userdata)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bundle)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(master)
_arguments "${_arguments_options[@]}" : \
":: :_provisioner__subcmd__help__subcmd__master_commands" \
"*::: :->master" \
&& ret=0

    case $state in
    (master)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-help-master-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(worker)
_arguments "${_arguments_options[@]}" : \
":: :_provisioner__subcmd__help__subcmd__worker_commands" \
"*::: :->worker" \
&& ret=0

    case $state in
    (worker)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:provisioner-help-worker-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(replace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(version)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completion)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_provisioner_commands] )) ||
_provisioner_commands() {
    local commands; commands=(
'init:Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value' \
'plan:Show what \`apply\` would create, change and delete; exit codes\: 0 no changes, 2 changes, 3 no changes but an unhealthy server, 78 a conflict' \
'apply:Create missing resources, repair drift, and bring up the cluster on its machines; show the plan and ask first' \
'status:Show the resources, and each machine'\''s node, etcd member and load balancer state' \
'timeline:Draw a timeline of a past run\: when each part started and ended, in the cloud and on all machines' \
'destroy:Delete the cluster'\''s resources; show them and ask first' \
'userdata:Print the user-data of one machine; needs no cloud' \
'bundle:Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud' \
'master:Add, replace or remove masters' \
'worker:Add, replace or remove workers' \
'version:Print the version of the provisioner and the supported versions of Kubernetes' \
'completion:Print a completion script for a shell' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__apply_commands] )) ||
_provisioner__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner apply commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__bundle_commands] )) ||
_provisioner__subcmd__bundle_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner bundle commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__completion_commands] )) ||
_provisioner__subcmd__completion_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner completion commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__destroy_commands] )) ||
_provisioner__subcmd__destroy_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner destroy commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help_commands] )) ||
_provisioner__subcmd__help_commands() {
    local commands; commands=(
'init:Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value' \
'plan:Show what \`apply\` would create, change and delete; exit codes\: 0 no changes, 2 changes, 3 no changes but an unhealthy server, 78 a conflict' \
'apply:Create missing resources, repair drift, and bring up the cluster on its machines; show the plan and ask first' \
'status:Show the resources, and each machine'\''s node, etcd member and load balancer state' \
'timeline:Draw a timeline of a past run\: when each part started and ended, in the cloud and on all machines' \
'destroy:Delete the cluster'\''s resources; show them and ask first' \
'userdata:Print the user-data of one machine; needs no cloud' \
'bundle:Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud' \
'master:Add, replace or remove masters' \
'worker:Add, replace or remove workers' \
'version:Print the version of the provisioner and the supported versions of Kubernetes' \
'completion:Print a completion script for a shell' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__apply_commands] )) ||
_provisioner__subcmd__help__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help apply commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__bundle_commands] )) ||
_provisioner__subcmd__help__subcmd__bundle_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help bundle commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__completion_commands] )) ||
_provisioner__subcmd__help__subcmd__completion_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help completion commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__destroy_commands] )) ||
_provisioner__subcmd__help__subcmd__destroy_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help destroy commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__help_commands] )) ||
_provisioner__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__init_commands] )) ||
_provisioner__subcmd__help__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help init commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__master_commands] )) ||
_provisioner__subcmd__help__subcmd__master_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
    )
    _describe -t commands 'provisioner help master commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__master__subcmd__add_commands] )) ||
_provisioner__subcmd__help__subcmd__master__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help master add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__master__subcmd__remove_commands] )) ||
_provisioner__subcmd__help__subcmd__master__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help master remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__master__subcmd__replace_commands] )) ||
_provisioner__subcmd__help__subcmd__master__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help master replace commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__plan_commands] )) ||
_provisioner__subcmd__help__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help plan commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__status_commands] )) ||
_provisioner__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help status commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__timeline_commands] )) ||
_provisioner__subcmd__help__subcmd__timeline_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help timeline commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__userdata_commands] )) ||
_provisioner__subcmd__help__subcmd__userdata_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help userdata commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__version_commands] )) ||
_provisioner__subcmd__help__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help version commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__worker_commands] )) ||
_provisioner__subcmd__help__subcmd__worker_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
    )
    _describe -t commands 'provisioner help worker commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__worker__subcmd__add_commands] )) ||
_provisioner__subcmd__help__subcmd__worker__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help worker add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__worker__subcmd__remove_commands] )) ||
_provisioner__subcmd__help__subcmd__worker__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help worker remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__help__subcmd__worker__subcmd__replace_commands] )) ||
_provisioner__subcmd__help__subcmd__worker__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner help worker replace commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__init_commands] )) ||
_provisioner__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner init commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master_commands] )) ||
_provisioner__subcmd__master_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner master commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__add_commands] )) ||
_provisioner__subcmd__master__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__help_commands] )) ||
_provisioner__subcmd__master__subcmd__help_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner master help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__help__subcmd__add_commands] )) ||
_provisioner__subcmd__master__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master help add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__help__subcmd__help_commands] )) ||
_provisioner__subcmd__master__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master help help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__help__subcmd__remove_commands] )) ||
_provisioner__subcmd__master__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master help remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__help__subcmd__replace_commands] )) ||
_provisioner__subcmd__master__subcmd__help__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master help replace commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__remove_commands] )) ||
_provisioner__subcmd__master__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__master__subcmd__replace_commands] )) ||
_provisioner__subcmd__master__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner master replace commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__plan_commands] )) ||
_provisioner__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner plan commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__status_commands] )) ||
_provisioner__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner status commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__timeline_commands] )) ||
_provisioner__subcmd__timeline_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner timeline commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__userdata_commands] )) ||
_provisioner__subcmd__userdata_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner userdata commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__version_commands] )) ||
_provisioner__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner version commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker_commands] )) ||
_provisioner__subcmd__worker_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner worker commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__add_commands] )) ||
_provisioner__subcmd__worker__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__help_commands] )) ||
_provisioner__subcmd__worker__subcmd__help_commands() {
    local commands; commands=(
'add:Create one machine of the configuration and join it to the cluster' \
'remove:Drain one machine, remove it from the cluster, and delete its resources' \
'replace:Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'provisioner worker help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__help__subcmd__add_commands] )) ||
_provisioner__subcmd__worker__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker help add commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__help__subcmd__help_commands] )) ||
_provisioner__subcmd__worker__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker help help commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__help__subcmd__remove_commands] )) ||
_provisioner__subcmd__worker__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker help remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__help__subcmd__replace_commands] )) ||
_provisioner__subcmd__worker__subcmd__help__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker help replace commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__remove_commands] )) ||
_provisioner__subcmd__worker__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker remove commands' commands "$@"
}
(( $+functions[_provisioner__subcmd__worker__subcmd__replace_commands] )) ||
_provisioner__subcmd__worker__subcmd__replace_commands() {
    local commands; commands=()
    _describe -t commands 'provisioner worker replace commands' commands "$@"
}

if [ "$funcstack[1]" = "_provisioner" ]; then
    _provisioner "$@"
else
    compdef _provisioner provisioner
fi
