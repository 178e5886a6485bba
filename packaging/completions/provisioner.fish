# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_provisioner_global_optspecs
    string join \n v/verbose q/quiet h/help V/version
end

function __fish_provisioner_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_provisioner_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_provisioner_using_subcommand
    set -l cmd (__fish_provisioner_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c provisioner -n "__fish_provisioner_needs_command" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_needs_command" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_needs_command" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_needs_command" -s V -l version -d 'Print version'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "init" -d 'Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "plan" -d 'Show what `apply` would create, change and delete; exit codes: 0 no changes, 2 changes, 3 no changes but an unhealthy server, 78 a conflict'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "apply" -d 'Create missing resources, repair drift, and bring up the cluster on its machines; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "status" -d 'Show the resources, and each machine\'s node, etcd member and load balancer state'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "timeline" -d 'Draw a timeline of a past run: when each part started and ended, in the cloud and on all machines'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "destroy" -d 'Delete the cluster\'s resources; show them and ask first'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "userdata" -d 'Print the user-data of one machine; needs no cloud'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "bundle" -d 'Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "master" -d 'Add, replace or remove masters'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "worker" -d 'Add, replace or remove workers'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "version" -d 'Print the version of the provisioner and the supported versions of Kubernetes'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l file -d 'The file to write' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l name -d 'The cluster\'s name' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l image -d 'The image of the machines, by name or ID' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l flavor -d 'The flavor of the machines, by name or ID' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l access -d 'The address range that may use SSH and the API, such as 192.0.2.0/24' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l masters -d 'Number of masters' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l workers -d 'Number of workers' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l force -d 'Replace the file if it exists'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l resources-only -d 'Manage the resources only, not the machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l yes -d 'Do not ask for confirmation'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l replace-balancer -d 'Replace a load balancer in ERROR; clients cannot reach the API until the new one is ACTIVE'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l resources-only -d 'Show the cloud\'s resources only; contact no machine'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -s o -l output -d 'The form of the timeline' -r -f -a "text\t'Plain text for a terminal'
svg\t'An SVG picture'
html\t'An HTML page with the picture and a table'
json\t'One JSON object with the run and its steps'"
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -l run -d 'Which run: 1 is the latest that changed something, 2 the one before it' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand timeline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l yes -d 'Do not ask for confirmation'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l out -d 'Write the secrets to this file, mode 0600, instead of printing them' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove replace help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l resources-only -d 'Manage the resources only, not the machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l resources-only -d 'Manage the resources only, not the machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l yes -d 'Do not ask for confirmation'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from replace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove replace help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l resources-only -d 'Manage the resources only, not the machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l resources-only -d 'Manage the resources only, not the machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l config -d 'Configuration file; may be repeated, later files override earlier ones' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l cluster -d 'Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the clusterID. The secrets bundle is clusters/NAME.secrets.yaml' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l secrets -d 'Secrets bundle; `apply` generates it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -s o -l output -d 'Output format: text, or one JSON object per line' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l kubeconfig -d 'Where to write the administrator\'s kubeconfig; by default NAME.kubeconfig, where NAME is the cluster\'s name; with --cluster, clusters/NAME.kubeconfig' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l yes -d 'Do not ask for confirmation'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -l break-lock -d 'Take over the cluster\'s lock; use it only if the run that holds the lock is dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from replace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand version" -s o -l output -d 'Output format' -r -f -a "text\t'For a terminal or a log'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand version" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand version" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand completion" -s v -l verbose -d 'Also write debug detail to standard error, such as each request to the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand completion" -s q -l quiet -d 'Do not report progress: print only results and failures'
complete -c provisioner -n "__fish_provisioner_using_subcommand completion" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "init" -d 'Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "plan" -d 'Show what `apply` would create, change and delete; exit codes: 0 no changes, 2 changes, 3 no changes but an unhealthy server, 78 a conflict'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "apply" -d 'Create missing resources, repair drift, and bring up the cluster on its machines; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "status" -d 'Show the resources, and each machine\'s node, etcd member and load balancer state'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "timeline" -d 'Draw a timeline of a past run: when each part started and ended, in the cloud and on all machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "destroy" -d 'Delete the cluster\'s resources; show them and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "userdata" -d 'Print the user-data of one machine; needs no cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "bundle" -d 'Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "master" -d 'Add, replace or remove masters'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "worker" -d 'Add, replace or remove workers'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "version" -d 'Print the version of the provisioner and the supported versions of Kubernetes'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "completion" -d 'Print a completion script for a shell'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status timeline destroy userdata bundle master worker version completion help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "add" -d 'Create one machine of the configuration and join it to the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "remove" -d 'Drain one machine, remove it from the cluster, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "replace" -d 'Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first'
